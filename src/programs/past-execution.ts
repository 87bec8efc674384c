import { hash } from "node:crypto";
import type { GuestFrame } from "../../bridge/frames.ts";
import type { FailureCode, RefusalCode } from "../gate/answer.ts";
import type { CallLine, CallOutcome } from "../gate/call-line.ts";
import type { RememberedDecision } from "../gate/remembered.ts";
import type { AnsweredRecord, CallRecord, DecisionRecord, JournalRecord, OutcomeRecord } from "../journal/record.ts";
import type { Caller } from "../tools/tool.ts";
import { type ExecutionState, applyTurn, applyRecord, initialState, PROGRAM_CALL } from "./execution-state.ts";
import { readTurn } from "./history.ts";
import { LogCollector } from "./log-collector.ts";

/** All that the journal tells of an execution, up to now. */
export interface Past {
  readonly state: ExecutionState;
  readonly logs: LogCollector;
  /** Calls that have ended, in the order of their ends. */
  readonly lines: readonly CallLine[];
  /** UTF-8 bytes of all results that were returned. */
  readonly resultBytes: number;
  /** UTF-8 bytes of the inputs of all calls. */
  readonly inputBytes: number;
  /** Calls made, whatever became of them. */
  readonly calls: number;
  /** Those of them that are open. */
  readonly openCalls: number;
  /** Decisions that also hold for later calls. */
  readonly remembered: readonly RememberedDecision[];
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
  const lines: CallLine[] = [];
  const begun = new Map<string, BegunCall>();
  let logs: LogCollector | undefined;
  let [resultBytes, inputBytes, calls] = [0, 0, 0];
  const remembered: RememberedDecision[] = [];
  let outcome: OutcomeRecord | undefined;

  const end = (call: string, facts: Pick<CallLine, "bytes" | "outcome" | "ms">) => {
    const known = begun.get(call);
    if (!known) return;
    begun.delete(call);
    // The program's own approval is none of its calls.
    if (call === PROGRAM_CALL) return;
    const { tool, caller, started } = known;
    lines.push({ callId: call, tool, caller, started, ...facts });
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

  for await (const record of records) {
    if (record.type === "turn") {
      const turn = readTurn(record);
      applyTurn(state, turn.event, turn.commands);
      for (const command of turn.commands) noteCommand(command, state.now);
      continue;
    }
    applyRecord(state, record);
    if (record.type === "header") logs = new LogCollector(record.limits.logBytes ?? 0);
    else if (record.type === "call") note(record);
    else if (record.type === "decision") {
      const decision = rememberedDecision(state, record);
      if (decision) remembered.push(decision);
    } else if (record.type === "answered") {
      resultBytes += record.bytes;
      end(record.call, { bytes: record.bytes, ms: record.ms, outcome: outcomeOf(record) });
    } else if (record.type === "outcome") outcome = record;
  }
  if (outcome) for (const call of begun.keys()) end(call, { bytes: 0, ms: 0, outcome: { type: "aborted" } });
  return {
    state,
    logs: logs ?? new LogCollector(0),
    lines,
    resultBytes,
    inputBytes,
    calls,
    openCalls: state.calls.size,
    remembered,
    outcome,
  };
}

/** A decision that also holds for later calls; undefined for any other, and for one that does not count. The state has it already. */
export function rememberedDecision(
  { calls }: ExecutionState,
  decision: DecisionRecord,
): RememberedDecision | undefined {
  const call = calls.get(Number(decision.call));
  if (!decision.remember || call?.decision !== decision || call.decided?.decision !== "held") return undefined;
  if (call.decided.code === "outcome_unknown") return undefined;
  return { tool: call.tool, inputDigest: hash("sha256", call.inputText), decision };
}

function outcomeOf({ ok, code, shape }: AnsweredRecord): CallOutcome {
  return ok ? { type: "value", shape: shape ?? "" } : { type: "failed", code: code as FailureCode };
}
