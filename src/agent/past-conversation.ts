import { optionError, PortcullisError } from "../errors.ts";
import type { CallLine } from "../gate/call-line.ts";
import type { PastUse } from "../gate/session.ts";
import type { PastArtifact } from "../journal/artifact-space.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { Journal } from "../journal/journal.ts";
import type { ModelUsage } from "../models/model.ts";
import { isHeadMoved } from "../journal/execution-log.ts";
import type { ConversationHeader, Header, OutcomeRecord, RestRecord, ToolDigest } from "../journal/record.ts";
import { cancelLeft } from "../programs/cancel-left.ts";
import type { UnansweredCall } from "../programs/execution-state.ts";
import { headerOf } from "../programs/once.ts";
import type { PastCalls } from "../programs/past-calls.ts";
import { findOwn, type Past, readPast, withoutOpenCalls } from "../programs/past-execution.ts";
import { inSlices } from "../values/in-slices.ts";
import { Lane } from "../values/slice-scheduler.ts";
import { isExpired, isWaiting, type Waiting, waitingFor, waitingOf } from "../programs/waiting.ts";
import { childExecution } from "./child-execution.ts";
import { ConversationReader } from "./conversation-reader.ts";
import type { KeptTurn } from "./history.ts";
import type { SaidMessage } from "./said.ts";

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
  readonly turns: readonly KeptTurn[];
  /** What its model is sent of them. */
  readonly sent: readonly KeptTurn[];
  /** Said after the last turn. */
  readonly said: readonly SaidMessage[];
  /** Number of turns before what the user said last. */
  readonly turnsBefore: number;
  /** Name of the model that answers now. */
  readonly model: string;
  /** System text of the developer's, for that model. */
  readonly instructions: string | undefined;
  /** Its tools now. */
  readonly tools: readonly ToolDigest[];
  /** It goes no further before the user says more. */
  readonly rest: RestRecord | undefined;
  readonly open: ReadonlyMap<string, OpenModelCall>;
  /** What it has used, with its programs. */
  readonly use: PastUse;
  /** Tokens of its turns, and of agents that its calls have started. */
  readonly usage: ModelUsage;
  readonly outcome: OutcomeRecord | undefined;
  /** Span of the latest driver that had one. */
  readonly trace: string | undefined;
  /** Its journal does not hold what happened, because it was redacted. */
  readonly isRedacted: boolean;
  /** What its programs have kept, and results that were too large. */
  readonly artifacts: readonly PastArtifact[];
}

/** Reads a conversation of this tenant, and all below it. Rejects with `execution_unknown`, and as `readPastConversation` does. */
export async function readOwnConversation(
  { journal, tenant }: { readonly journal: Journal; readonly tenant: string },
  execution: ExecutionId,
): Promise<PastConversation> {
  const { kind } = await findOwn({ journal, tenant }, execution);
  if (kind !== "conversation")
    throw optionError("resumeAgent(execution)", "a conversation", `the execution of a ${kind}`);
  const past = await readPastConversation(journal, execution, tenant);
  return withAgents(past, await readAgents(journal, past));
}

/**
 * Reads a conversation and its programs, without agents that its calls have started, in the tenant's share of the host's
 * thread. Rejects with `journal_invalid` for records that cannot be read, and as the journal does.
 */
export async function readPastConversation(
  journal: Journal,
  execution: ExecutionId,
  tenant = "",
): Promise<PastConversation> {
  // Loaded on demand: loading the schema library takes as long as running a program.
  const reader = new ConversationReader(execution, await import("./parse-message.ts"));
  for await (const record of inSlices(journal.read(execution), new Lane(tenant))) reader.take(record);
  const { turns, calls, remembered } = reader;
  const { header, open, facts } = reader.end();
  const own = turns.slice(header.continues?.turns ?? 0);
  const programs = new Map<string, ProgramUse>();
  const openPrograms = new Map<string, Past>();
  for (const { id } of own.flatMap(({ turn }) => turn.calls.filter(({ type }) => type === "program_call"))) {
    const program = await readProgram(journal, header, id);
    if (!program) continue;
    // Of those that have ended, with values of any size, no more is kept.
    programs.set(id, { calls: program.calls - program.openCalls, lines: program.lines });
    if (open.has(id)) openPrograms.set(id, program);
  }
  return {
    ...facts,
    header,
    turns,
    open: new Map([...open].map(([id, call]) => [id, { ...call, program: openPrograms.get(id) }])),
    use: { ...useOf(own, calls, programs, open), remembered },
    usage: sumOfUsage(own.map(({ turn }) => turn.usage)),
  };
}

/** What a program counts for in its conversation. */
interface ProgramUse {
  /** Calls that are not open. */
  readonly calls: number;
  readonly lines: readonly CallLine[];
}

/** The program of a call; undefined if it has not begun. */
async function readProgram(journal: Journal, caller: ConversationHeader, call: string): Promise<Past | undefined> {
  const child = childExecution(caller.execution, call);
  if (!(await isChild(journal, child, "program", caller, call))) return undefined;
  const past = await readPast(inSlices(journal.read(child), new Lane(caller.tenant)));
  return past.outcome ? past : withoutOpenCalls(past);
}

/** Whether a call has started this execution. Its id may be that of another one: callers choose ids, and journals are imported. */
async function isChild(
  journal: Journal,
  child: ExecutionId,
  kind: Header["kind"],
  { execution, tenant }: ConversationHeader,
  call: string,
): Promise<boolean> {
  let header: Header | undefined;
  try {
    header = await headerOf(journal, child);
  } catch (error) {
    if (!PortcullisError.is(error) || error.code !== "execution_unknown") throw error;
  }
  const { parent } = header ?? {};
  return header?.kind === kind && header.tenant === tenant && parent?.execution === execution && parent.call === call;
}

/** A call counts once it has a result: one without arrives again. So does an open call of a program. */
function useOf(
  turns: readonly KeptTurn[],
  calls: PastCalls,
  programs: ReadonlyMap<string, ProgramUse>,
  open: ReadonlyMap<string, unknown>,
): PastUse {
  const answered = turns.flatMap(({ turn, results }) => turn.calls.filter(({ id }) => results.has(id)));
  const inputs = answered.map((call) => (call.type === "tool_call" ? Buffer.byteLength(call.inputText) : 0));
  const below = [...programs.values()];
  return {
    calls: answered.length + sumOf(below.map((program) => program.calls)),
    openCalls: 0,
    inputBytes: sumOf(inputs),
    // A call whose result did not reach the model is made again.
    resultBytes: calls.resultBytes - sumOf(calls.lines.map((line) => (open.has(line.callId) ? line.bytes : 0))),
    lines: [
      ...calls.lines.filter(({ callId }) => !open.has(callId)),
      ...[...programs].flatMap(([call, { lines }]) => lines.map(lineBelow(call))),
    ],
  };
}

/** Conversations of agents that calls have started, by the id of the call. */
async function readAgents(
  journal: Journal,
  { header, turns }: PastConversation,
): Promise<ReadonlyMap<string, PastConversation>> {
  const agents = new Map<string, PastConversation>();
  for (const { type, id } of turns.flatMap(({ turn }) => turn.calls)) {
    const child = childExecution(header.execution, id);
    if (type !== "tool_call" || !(await isChild(journal, child, "conversation", header, id))) continue;
    const past = await readPastConversation(journal, child);
    agents.set(id, withAgents(past, await readAgents(journal, past)));
  }
  return agents;
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

/** Ends the programs of open calls, as cancelled. Those that another driver takes up are left to it. Resolves with the ids of the calls. */
export async function cancelPrograms(
  scope: { readonly journal: Journal; readonly leaseMs: number },
  execution: ExecutionId,
  { open }: PastConversation,
): Promise<ReadonlySet<string>> {
  const cancelled = new Set<string>();
  for (const call of open.values()) {
    if (!call.program || call.program.outcome) continue;
    try {
      await cancelLeft(scope, childExecution(execution, call.id), call.program);
      cancelled.add(call.id);
    } catch (error) {
      if (!isHeadMoved(error)) throw error;
    }
  }
  return cancelled;
}

/** Whether it goes on after an ending, when the user says more: it was begun without a task. */
export function isHeld({ task }: Pick<ConversationHeader, "task">): boolean {
  return task === "";
}

/** Whether its last turn has not been closed: calls lack results, or nothing followed it. */
export function hasOpenTurn({ turns, open, said, rest }: PastConversation): boolean {
  return open.size > 0 || (turns.length > 0 && said.length === 0 && rest === undefined);
}

/** Whether an open conversation goes no further before the user says more. */
export function isResting({ header, rest, turns, said, outcome }: PastConversation): boolean {
  if (outcome) return false;
  return rest !== undefined || (isHeld(header) && turns.length === 0 && said.length === 0);
}

/** What an open conversation waits for, its programs included; undefined if it can go on by itself. */
export function waitingOfConversation({ header, open, outcome, rest }: PastConversation): Waiting | undefined {
  if (open.size === 0 || outcome) return undefined;
  // The calls of a turn that was asked for alone are for the host to answer.
  if (rest) return { type: "waiting", approvals: [], calls: [...open.values()].map((call) => calledFor(call, rest)) };
  const approvals: Waiting["approvals"][number][] = [];
  const calls: Waiting["calls"][number][] = [];
  for (const call of open.values()) {
    const isOwnWaiting = isWaiting(call) && !isExpired(header, call);
    const waiting = call.program
      ? waitingBelow(call.id, call.program)
      : isOwnWaiting && waitingFor([call], header.execution);
    if (!waiting) return undefined;
    // There may be more than a function takes arguments.
    for (const one of waiting.approvals) approvals.push(one);
    for (const one of waiting.calls) calls.push(one);
  }
  return { type: "waiting", approvals, calls };
}

function calledFor({ id, tool, inputText }: OpenModelCall, { at }: RestRecord): Waiting["calls"][number] {
  return { callId: id, tool, input: jsonOrText(inputText), since: at };
}

/** A model may write anything as input. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
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
