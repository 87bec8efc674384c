import { PortcullisError } from "../errors.ts";
import type { Header } from "../journal/record.ts";
import { type CallFacts, type ExecutionState, PROGRAM_CALL, type UnansweredCall } from "./execution-state.ts";

/** A call that waits for a decision. */
export interface WaitingApproval {
  /** `"program"` for the program itself. */
  readonly callId: string;
  /** `"run_program"` for the program itself; its input is `{ source, language }`. */
  readonly tool: string;
  readonly input: unknown;
  /** SHA-256 in hex of the input's JSON text. */
  readonly inputDigest: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /**
   * `approval`: the tool requires one. `outcome_unknown`: the call's driver died while its handler ran, so the call may
   * have taken effect.
   */
  readonly why: "approval" | "outcome_unknown";
}

/** A call that waits for its result from a client. */
export interface WaitingCall {
  readonly callId: string;
  readonly tool: string;
  readonly input: unknown;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** All that an execution waits for. */
export interface Waiting {
  readonly type: "waiting";
  readonly approvals: readonly WaitingApproval[];
  readonly calls: readonly WaitingCall[];
}

/** Whether a call waits for a person or a client. */
export function isWaiting({ decided, decision, result }: CallFacts): boolean {
  if (decided?.decision === "held") return decision === undefined;
  return decided?.decision === "client" && result === undefined;
}

/** Whether a call has waited for longer than its execution allows. It ends as soon as the execution is driven. */
export function isExpired(header: Pick<Header, "limits"> | undefined, call: CallFacts): boolean {
  const waitMs = header?.limits.waitMs;
  return waitMs !== undefined && isWaiting(call) && (call.decided?.at ?? 0) + waitMs <= Date.now();
}

/**
 * The calls that an open execution waits for; undefined if it can continue by itself, as when a call has waited too
 * long. Throws `journal_invalid` for an input that is not JSON.
 */
export function waitingOf(state: ExecutionState): Waiting | undefined {
  const { header, timers, settled, stopped, outcome } = state;
  const open = openCalls(state);
  if (open.length === 0 || timers.size > 0 || settled || stopped || outcome !== undefined) return undefined;
  return open.every((call) => isWaiting(call) && !isExpired(header, call))
    ? waitingFor(open, header?.execution)
    : undefined;
}

/** Sorts waiting calls into approvals and calls of clients. Throws `journal_invalid` for an input that is not JSON. */
export function waitingFor(open: readonly UnansweredCall[], execution = ""): Waiting {
  const inputOf = ({ id, inputText }: UnansweredCall) => parse(inputText, execution, id);
  return {
    type: "waiting",
    approvals: open.flatMap((call) => {
      const { id, tool, decided } = call;
      return decided?.decision === "held"
        ? [
            {
              callId: String(id),
              tool,
              input: inputOf(call),
              inputDigest: decided.inputDigest ?? "",
              since: decided.at,
              why: decided.code === "outcome_unknown" ? ("outcome_unknown" as const) : ("approval" as const),
            },
          ]
        : [];
    }),
    calls: open.flatMap((call) => {
      const { id, tool, decided } = call;
      return decided?.decision === "client"
        ? [{ callId: String(id), tool, input: inputOf(call), since: decided.at }]
        : [];
    }),
  };
}

/** The calls of the program that have no answer, or that by which the program itself is approved before it starts. */
export function openCalls({ turns, calls, program }: ExecutionState): readonly UnansweredCall[] {
  if (turns > 0) return [...calls.values()];
  return program ? [{ ...program, id: PROGRAM_CALL }] : [];
}

/** The gate has checked that the input is JSON before it held the call, but a journal may come from elsewhere. */
function parse(text: string, execution: string, id: number | string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new PortcullisError(
      "journal_invalid",
      `Execution ${JSON.stringify(execution)}: the input of call ${id}, which waits, is not JSON. Restore the journal from a backup, or import it again.`,
    );
  }
}
