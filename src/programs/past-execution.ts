import type { GuestFrame } from "../../bridge/frames.ts";
import { optionError, PortcullisError } from "../errors.ts";
import type { FailureCode, RefusalCode } from "../gate/answer.ts";
import type { CallLine, CallOutcome } from "../gate/call-line.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { AnsweredRecord, CallRecord, JournalRecord, OutcomeRecord } from "../journal/record.ts";
import type { Caller } from "../tools/tool.ts";
import { type ExecutionState, applyTurn, applyRecord, initialState } from "./execution-state.ts";
import { readingRecord, readTurn } from "./history.ts";
import { LogCollector } from "./log-collector.ts";
import type { Scope } from "./scope.ts";

/** All that the journal tells of an execution, up to now. */
export interface Past {
  readonly state: ExecutionState;
  readonly logs: LogCollector;
  /** Calls that have ended, in the order of their ends. */
  readonly lines: readonly CallLine[];
  /** UTF-8 bytes of all results that were returned. */
  readonly resultBytes: number;
  /** UTF-8 bytes of the results that the program was given. */
  readonly seenBytes: number;
  /** UTF-8 bytes of the inputs of all calls. */
  readonly inputBytes: number;
  /** Calls made, whatever became of them. */
  readonly calls: number;
  /** Those of them that are open. */
  readonly openCalls: number;
  readonly outcome: OutcomeRecord | undefined;
}

/** What is known of a call before it ends. */
interface BegunCall {
  readonly tool: string;
  readonly caller: Caller;
  /** Milliseconds since 1970. */
  readonly at: number;
  started: boolean;
}

/**
 * Reads an execution from its journal in one pass, without keeping its turns. Rejects with `journal_invalid` for a turn
 * that cannot be read, and as the journal does.
 */
export async function readPast(records: AsyncIterable<JournalRecord> | Iterable<JournalRecord>): Promise<Past> {
  const state = initialState();
  const lines = new Map<string, CallLine>();
  const begun = new Map<string, BegunCall>();
  let logs: LogCollector | undefined;
  let [resultBytes, seenBytes, inputBytes, calls] = [0, 0, 0, 0];
  let outcome: OutcomeRecord | undefined;

  const end = (call: string, facts: Pick<CallLine, "bytes" | "outcome" | "ms">) => {
    const known = begun.get(call);
    if (!known) return;
    begun.delete(call);
    const { tool, caller, started } = known;
    // A call whose answer did not reach the program was made again by the next driver.
    resultBytes += facts.bytes - (lines.get(call)?.bytes ?? 0);
    lines.delete(call);
    lines.set(call, { callId: call, tool, caller, started, ...facts });
  };
  const note = (record: CallRecord) => {
    const known = begun.get(record.call);
    const at = known?.at ?? record.at;
    const started = (known?.started ?? false) || record.decision === "allowed";
    begun.set(record.call, { tool: record.tool, caller: record.caller as Caller, at, started });
    const ms = record.at - at;
    if (record.decision === "refused")
      end(record.call, { bytes: 0, ms, outcome: { type: "refused", code: record.code as RefusalCode } });
    if (record.decision === "dropped") end(record.call, { bytes: 0, ms, outcome: { type: "aborted" } });
  };
  const noteCommand = (command: GuestFrame, at: number) => {
    if (command.kind === "output") logs?.take(command);
    if (command.kind !== "call") return;
    calls += 1;
    inputBytes += Buffer.byteLength(command.body);
    begun.set(String(command.id), { tool: command.tool, caller: "programmatic", at, started: false });
  };

  const take = (record: JournalRecord) => {
    if (record.type === "turn") {
      const turn = readTurn(record);
      applyTurn(state, turn.event, turn.commands);
      if (turn.event.kind === "answer" && turn.event.ok) seenBytes += Buffer.byteLength(turn.event.body);
      for (const command of turn.commands) noteCommand(command, state.now);
      return;
    }
    applyRecord(state, record);
    if (record.type === "header") logs = new LogCollector(record.limits.logBytes ?? 0);
    else if (record.type === "call") note(record);
    else if (record.type === "answered") {
      end(record.call, { bytes: record.bytes, ms: record.ms, outcome: outcomeOf(record) });
    } else if (record.type === "outcome") outcome = record;
  };
  for await (const record of records) readingRecord(state.header?.execution, state.records, () => take(record));
  if (outcome) for (const call of begun.keys()) end(call, { bytes: 0, ms: 0, outcome: { type: "aborted" } });
  return {
    state,
    logs: logs ?? new LogCollector(0),
    lines: [...lines.values()],
    resultBytes,
    seenBytes,
    inputBytes,
    calls,
    openCalls: state.calls.size,
    outcome,
  };
}

/** Reads a program's execution of this tenant. Rejects with `execution_unknown`, and as `readPast` does. */
export async function readOwn(
  { journal, tenant }: Pick<Scope, "journal" | "tenant">,
  execution: ExecutionId,
): Promise<Past> {
  const past = await readPast(journal.read(execution));
  const { header } = past.state;
  if (!header || header.tenant !== tenant)
    throw new PortcullisError("execution_unknown", `The journal holds no execution ${JSON.stringify(execution)}.`);
  if (header.kind !== "program")
    throw optionError("resume(execution)", "the execution of a program", `a ${header.kind}`);
  return past;
}

/** The past of an execution for its next driver, which makes the open calls again, also those that had ended. */
export function withoutOpenCalls(past: Past): Past {
  const isOpen = ({ callId }: CallLine) => past.state.calls.has(Number(callId));
  const again = past.lines.filter(isOpen).reduce((bytes, line) => bytes + line.bytes, 0);
  return { ...past, lines: past.lines.filter((line) => !isOpen(line)), resultBytes: past.resultBytes - again };
}

function outcomeOf({ ok, code, shape }: AnsweredRecord): CallOutcome {
  return ok ? { type: "value", shape: shape ?? "" } : { type: "failed", code: code as FailureCode };
}
