import { optionError, PortcullisError } from "../errors.ts";
import type { CallLine } from "../gate/call-line.ts";
import type { RememberedDecision } from "../gate/remembered.ts";
import type { PastUse } from "../gate/session.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { Journal } from "../journal/journal.ts";
import type { ConversationHeader, OutcomeRecord } from "../journal/record.ts";
import type { CallResult, ModelCall, ModelTurn, ModelUsage } from "../models/model.ts";
import { rememberedIn } from "../programs/changed-tools.ts";
import { applyToCall, type UnansweredCall } from "../programs/execution-state.ts";
import { PastCalls } from "../programs/past-calls.ts";
import { findOwn, type Past, readPast, withoutOpenCalls } from "../programs/past-execution.ts";
import { isExpired, isWaiting, type Waiting, waitingFor, waitingOf } from "../programs/waiting.ts";
import { childExecution } from "./child-execution.ts";
import { RUN_PROGRAM } from "./run-program.ts";

/** A turn of the model, with the results that are there. */
export interface RecordedTurn {
  readonly turn: ModelTurn;
  /** For the provider alone. */
  readonly opaque: string | undefined;
  /** By call id. */
  readonly results: Map<string, CallResult>;
}

/** A call of the last turn without a result. */
export interface OpenModelCall extends UnansweredCall {
  readonly id: string;
  /** The program that it runs, if it has begun. */
  readonly program: Past | undefined;
}

/** All that the journal tells of a conversation, up to now. */
export interface PastConversation {
  readonly header: ConversationHeader;
  /** Number of its records. */
  readonly records: number;
  readonly turns: readonly RecordedTurn[];
  readonly open: ReadonlyMap<string, OpenModelCall>;
  /** What it has used, with its programs. */
  readonly use: PastUse;
  /** Tokens of its turns, and of agents that its calls have started. */
  readonly usage: ModelUsage;
  readonly outcome: OutcomeRecord | undefined;
}

/** Reads a conversation of this tenant, and all below it. Rejects with `execution_unknown`, and as `readPastConversation` does. */
export async function readOwnConversation(
  { journal, tenant }: { readonly journal: Journal; readonly tenant: string },
  execution: ExecutionId,
): Promise<PastConversation> {
  const { kind } = await findOwn({ journal, tenant }, execution);
  if (kind !== "conversation")
    throw optionError("resumeAgent(execution)", "a conversation", `the execution of a ${kind}`);
  const past = await readPastConversation(journal, execution);
  return withAgents(past, await readAgents(journal, execution, past));
}

/** Reads a conversation and its programs, without agents that its calls have started. Rejects with `journal_invalid` for records that cannot be read, and as the journal does. */
export async function readPastConversation(journal: Journal, execution: ExecutionId): Promise<PastConversation> {
  const turns: RecordedTurn[] = [];
  const calls = new PastCalls();
  let header: ConversationHeader | undefined;
  const remembered: RememberedDecision[] = [];
  let outcome: OutcomeRecord | undefined;
  let open = new Map<string, UnansweredCall & { readonly id: string }>();
  let records = 0;
  // Loaded on demand: loading the schema library takes as long as running a program.
  const { parseTurn, parseResults } = await import("./parse-message.ts");
  for await (const record of journal.read(execution)) {
    records += 1;
    switch (record.type) {
      case "header":
        if (record.kind === "conversation") header = record;
        break;
      case "message":
        if (record.from === "model") {
          const turn = parseTurn(record);
          turns.push({ turn, opaque: record.opaque, results: new Map() });
          open = new Map(turn.calls.map((call) => [call.id, unanswered(call)]));
        } else
          for (const result of parseResults(record)) {
            open.delete(result.callId);
            turns.at(-1)?.results.set(result.callId, result);
          }
        break;
      case "call":
        calls.decided(record);
        applyToCall(open.get(record.call), record);
        break;
      case "answered":
        calls.answered(record);
        applyToCall(open.get(record.call), record);
        break;
      case "decision":
        applyToCall(open.get(record.call), record);
        remembered.push(...rememberedIn([record], (id) => open.get(id)));
        break;
      case "result":
        applyToCall(open.get(record.call), record);
        break;
      case "outcome":
        outcome = record;
        break;
      default:
    }
  }
  if (!header)
    throw new PortcullisError("journal_invalid", `Execution ${JSON.stringify(execution)} is no conversation.`);
  const programs = await readPrograms(journal, execution, turns);
  return {
    header,
    records,
    turns,
    open: new Map([...open].map(([id, call]) => [id, { ...call, program: programs.get(id) }])),
    use: { ...useOf(turns, calls, programs, open), remembered },
    usage: sumOfUsage(turns.map(({ turn }) => turn.usage)),
    outcome,
  };
}

function unanswered(call: ModelCall): UnansweredCall & { readonly id: string } {
  const { id } = call;
  if (call.type === "tool_call") return { id, tool: call.tool, inputText: call.inputText };
  return { id, tool: RUN_PROGRAM, inputText: JSON.stringify(call.source ?? null) };
}

/** The programs that have begun, by the id of their call. */
async function readPrograms(
  journal: Journal,
  execution: ExecutionId,
  turns: readonly RecordedTurn[],
): Promise<ReadonlyMap<string, Past>> {
  const programs = new Map<string, Past>();
  for (const { id } of turns.flatMap(({ turn }) => turn.calls.filter(({ type }) => type === "program_call"))) {
    try {
      const past = await readPast(journal.read(childExecution(execution, id)));
      programs.set(id, past.outcome ? past : withoutOpenCalls(past));
    } catch (error) {
      if (!PortcullisError.is(error) || error.code !== "execution_unknown") throw error;
    }
  }
  return programs;
}

/** A call counts once it has a result: one without arrives again. So does an open call of a program. */
function useOf(
  turns: readonly RecordedTurn[],
  calls: PastCalls,
  programs: ReadonlyMap<string, Past>,
  open: ReadonlyMap<string, unknown>,
): PastUse {
  const answered = turns.flatMap(({ turn, results }) => turn.calls.filter(({ id }) => results.has(id)));
  const inputs = answered.map((call) => (call.type === "tool_call" ? Buffer.byteLength(call.inputText) : 0));
  const below = [...programs.values()];
  return {
    calls: answered.length + sumOf(below.map((program) => program.calls - program.openCalls)),
    openCalls: 0,
    inputBytes: sumOf(inputs),
    resultBytes: calls.resultBytes,
    lines: [
      ...calls.lines.filter(({ callId }) => !open.has(callId)),
      ...[...programs].flatMap(([call, { lines }]) => lines.map(lineBelow(call))),
    ],
  };
}

/** Conversations of agents that calls have started, by the id of the call. */
async function readAgents(
  journal: Journal,
  execution: ExecutionId,
  { turns }: PastConversation,
): Promise<ReadonlyMap<string, PastConversation>> {
  const agents = new Map<string, PastConversation>();
  for (const { type, id } of turns.flatMap(({ turn }) => turn.calls)) {
    const child = childExecution(execution, id);
    if (type !== "tool_call" || !(await isKnown(journal, child))) continue;
    const past = await readPastConversation(journal, child);
    agents.set(id, withAgents(past, await readAgents(journal, child, past)));
  }
  return agents;
}

async function isKnown(journal: Journal, execution: ExecutionId): Promise<boolean> {
  try {
    return (await journal.find(execution)).kind === "conversation";
  } catch (error) {
    if (PortcullisError.is(error) && error.code === "execution_unknown") return false;
    throw error;
  }
}

function withAgents(past: PastConversation, agents: ReadonlyMap<string, PastConversation>): PastConversation {
  const { use, open } = past;
  const below = [...agents.values()];
  // The driver of an agent that goes on counts its tokens in both budgets.
  const ended = [...agents].flatMap(([call, { usage }]) => (open.has(call) ? [] : [usage]));
  return {
    ...past,
    use: {
      ...use,
      calls: use.calls + sumOf(below.map((agent) => agent.use.calls)),
      lines: [...use.lines, ...[...agents].flatMap(([call, agent]) => agent.use.lines.map(lineBelow(call)))],
    },
    usage: sumOfUsage([past.usage, ...ended]),
  };
}

function lineBelow(call: string): (line: CallLine) => CallLine {
  return (line) => ({ ...line, callId: `${call}/${line.callId}` });
}

function sumOfUsage(all: readonly ModelUsage[]): ModelUsage {
  const sum = (field: keyof ModelUsage) => sumOf(all.map((usage) => usage[field]));
  return {
    inputTokens: sum("inputTokens"),
    outputTokens: sum("outputTokens"),
    cachedInputTokens: sum("cachedInputTokens"),
  };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0);
}

/** What an open conversation waits for, its programs included; undefined if it can go on by itself. */
export function waitingOfConversation({ header, open, outcome }: PastConversation): Waiting | undefined {
  if (open.size === 0 || outcome) return undefined;
  const approvals: Waiting["approvals"][number][] = [];
  const calls: Waiting["calls"][number][] = [];
  for (const call of open.values()) {
    const isOwnWaiting = isWaiting(call) && !isExpired(header, call);
    const waiting = call.program
      ? waitingBelow(call.id, call.program)
      : isOwnWaiting && waitingFor([call], header.execution);
    if (!waiting) return undefined;
    approvals.push(...waiting.approvals);
    calls.push(...waiting.calls);
  }
  return { type: "waiting", approvals, calls };
}

function waitingBelow(callId: string, { state }: Past): Waiting | undefined {
  const waiting = waitingOf(state);
  if (!waiting) return undefined;
  const under = <Call extends { readonly callId: string }>(call: Call) => ({
    ...call,
    callId: `${callId}/${call.callId}`,
  });
  return { type: "waiting", approvals: waiting.approvals.map(under), calls: waiting.calls.map(under) };
}
