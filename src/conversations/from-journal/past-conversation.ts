import {
  type ExecutionId,
  parsedJson,
  PortcullisError,
  type Share,
  type SlicedWork,
  textOf,
  jsonOrText,
} from "../../base/index.ts";
import type { CallLine } from "../../gate/call-line.ts";
import type { PastUse } from "../../gate/session.ts";
import type { Journal } from "../../journal/journal.ts";
import { type ModelCall, type ModelUsage, sumOfUsage } from "../../models/model.ts";
import { isHeadMoved } from "../../journal/execution-log.ts";
import { NO_ITEMS, type ReadingBudget, type ReadingOptions, readRecords } from "../../journal/reading/read-records.ts";
import type { ConversationHeader, Header, JournalRecord, ToolDigest } from "../../journal/record.ts";
import { endAsCancelled } from "../../executions/drive/ending/end-without-running.ts";
import { isDriven } from "../../executions/driven.ts";
import { findOwn, type Past, readPast, withoutOpenCalls } from "../../executions/from-journal/past-execution.ts";
import { type FailedPrograms, failedPrograms } from "../calls/failed-programs.ts";
import { startedBy } from "../calls/child-execution.ts";
import { readingSliced } from "../../executions/from-journal/read-turns.ts";
import { holdHistory } from "../drive/conversation-log.ts";
import {
  applyTurnRecord,
  type HistoryContent,
  ConversationState,
  copiedTurns,
  type KeptTurn,
  type KnownState,
  type UnansweredModelCall,
  isHeld,
} from "./conversation-state.ts";
import { isExpired, isWaiting } from "../../executions/from-journal/call-history.ts";
import { shownWaiting } from "../../executions/redact-execution.ts";
import type { UnansweredCall } from "../../executions/from-journal/execution-state.ts";
import { ListedRoom, standingOf, waitingCalls, waitingFor } from "../../executions/from-journal/standing.ts";
import type { Redactor } from "../../journal/redaction/redactor.ts";
import type { AgentEnding } from "../event.ts";
import type { Waiting } from "../../executions/outcome.ts";

export interface OpenModelCall extends UnansweredModelCall {
  /** The program that it runs, if it has begun. */
  readonly program: Past | undefined;
  readonly driven: boolean;
}

/** All that the journal tells of a conversation and its programs, up to now. */
export interface PastConversation extends Readonly<Omit<ConversationState, "header" | "open">> {
  readonly header: ConversationHeader;
  readonly open: ReadonlyMap<string, OpenModelCall>;
  /** What it has used, with its programs. */
  readonly use: PastUse;
  /** Tokens of its turns, and of agents that its calls have started. */
  readonly usage: ModelUsage;
  /** Its programs that did not complete, and that none has corrected. */
  readonly failed: FailedPrograms;
  /** The state without what its calls have begun, from which its next driver goes on. */
  readonly state: KnownState;
}

/**
 * Reads a conversation of this tenant, and all below it. Rejects with `execution_unknown`, with `busy` if its history has no room
 * in the share, and as `readPastConversation` does.
 */
export async function readOwnConversation(
  { journal, tenant }: { readonly journal: Journal; readonly tenant: string },
  execution: ExecutionId,
  history?: Share,
): Promise<PastConversation> {
  const { kind } = await findOwn({ journal, tenant }, execution);
  if (kind !== "conversation")
    throw new PortcullisError(
      "option_invalid",
      `${JSON.stringify(execution)} is a ${kind}, and no conversation.${kind === "program" ? " A program is continued by runtime.execution(id).resume(), without `model`." : ""}`,
    );
  return readBelow(journal, await readState(journal, execution, tenant, { history }));
}

/**
 * Reads a conversation and its programs, without agents that its calls have started, in the tenant's share of the host's
 * thread. Rejects with `journal_invalid` for records that cannot be read, and as the journal does.
 */
export async function readPastConversation(
  journal: Journal,
  execution: ExecutionId,
  tenant = "",
  budget?: ReadingBudget,
): Promise<PastConversation> {
  return readBelow(journal, await readState(journal, execution, tenant, { budget }), {
    agents: false,
    budget,
    ...NO_ITEMS,
  });
}

async function readState(
  journal: Journal,
  execution: ExecutionId,
  tenant: string,
  { budget, history }: { readonly budget?: ReadingBudget | undefined; readonly history?: Share | undefined } = {},
): Promise<KnownState> {
  // Loaded on demand: loading the schema library takes as long as running a program.
  const { readContent } = await import("./parse-message.ts");
  const state = new ConversationState();
  const ids = new Set<string>();
  const take = function* (record: JournalRecord): SlicedWork<void> {
    const content = yield* readContent(record);
    if (content) refuseImpossible(state, content, ids);
    const before = state.bytes;
    applyTurnRecord(state, record, content);
    if (history) holdHistory(history, execution, state.bytes - before);
  };
  await readRecords(journal, execution, { tenant, budget }).each((record) =>
    readingSliced(execution, state.records, take(record)),
  );
  const { header, turns } = state;
  if (!header) throw unreadable(execution, "it is no conversation");
  if (copiedTurns(state) > turns.length)
    throw unreadable(
      execution,
      "not all turns of the conversation that it continues were copied. Continue that conversation again",
    );
  return Object.assign(state, { header });
}

function unreadable(execution: ExecutionId, why: string): PortcullisError {
  return new PortcullisError(
    "journal_invalid",
    `Execution ${JSON.stringify(execution)} cannot be read as a conversation: ${why}.`,
  );
}

/** Throws `journal_invalid` for a message that no driver appends in this state. `ids` are the ids of all calls so far. */
function refuseImpossible({ open }: ConversationState, content: HistoryContent, ids: Set<string>): void {
  if ("said" in content && content.said.length > 0 && open.size > 0)
    throw new PortcullisError("journal_invalid", "A message of the user follows calls without results.");
  if (!("turn" in content)) return;
  for (const { id } of content.turn.calls) {
    if (ids.has(id))
      throw new PortcullisError("journal_invalid", `The journal holds two calls ${JSON.stringify(id)} of one model.`);
    ids.add(id);
  }
}

interface BelowOptions extends Pick<ReadingOptions, "budget" | "itemBytes"> {
  readonly agents?: boolean;
}

/** What is known of a conversation in this state, with its programs, and with the agents that its calls have started. */
export async function readBelow(
  journal: Journal,
  state: KnownState,
  { agents = true, ...reading }: BelowOptions = {},
): Promise<PastConversation> {
  const { header, open } = state;
  const own = state.turns.slice(copiedTurns(state));
  const usages = own.map(({ turn }) => turn.usage);
  const below: Below[] = [];
  const failed = failedPrograms();
  const begun = new Map<string, Pick<OpenModelCall, "program" | "driven">>();
  const take = (call: string, { use, usage, hasEnded }: PastAgent, isOpen: boolean) => {
    below.push({ call, calls: use.calls, lines: use.lines });
    // The driver of an agent that goes on counts its tokens in all budgets.
    if (hasEnded || !isOpen) usages.push(usage);
  };
  const modelCalls = own.flatMap(({ turn }, index) =>
    turn.calls.map((call) => ({ ...call, turn: index + copiedTurns(state) })),
  );
  for (const { type, id, turn } of modelCalls) {
    if (type === "program_call") {
      const started = await startedBy(journal, header, id);
      if (started?.kind !== "program") continue;
      const child = started.execution;
      const past = await readPast(readRecords(journal, child, { tenant: header.tenant, ...reading }));
      const program = past.outcome ? past : withoutOpenCalls(past);
      noteProgram(failed, id, turn, past);
      // No more is kept of programs that have ended: their values may be of any size.
      below.push({ call: id, calls: program.calls - program.openCalls, lines: program.lines });
      if (open.has(id)) begun.set(id, { program, driven: isDriven(journal, await journal.find(child)) });
      if (agents)
        for (const { call, isOpen, agent } of await agentsOf(journal, past)) take(`${id}/${call}`, agent, isOpen);
    } else if (agents) {
      const agent = await readAgent(journal, header, id);
      if (agent) take(id, agent, open.has(id));
    }
  }
  return Object.assign({}, state, {
    state,
    failed,
    open: new Map([...open].map(([id, call]) => [id, { ...call, ...(begun.get(id) ?? NOT_BEGUN) }])),
    use: useOf(state, own, below),
    usage: sumOfUsage(usages),
  });
}

function noteProgram(failed: FailedPrograms, callId: string, turn: number, past: Past): void {
  const { header } = past.state;
  if (header?.kind !== "program") return;
  const { execution, startedAt, corrects: after } = header;
  failed.begin(callId, after);
  if (past.outcome && textOf(parsedJson(past.outcome.outcome), "type") !== "completed")
    failed.fail(callId, { execution, startedAt, turn });
  else failed.note(callId, past);
}

/** An agent that a call has started. */
interface PastAgent extends Pick<PastConversation, "use" | "usage"> {
  readonly hasEnded: boolean;
}

/** Reads the agent that a call has started; undefined if the call has started none. */
async function readAgent(
  journal: Journal,
  above: Pick<Header, "execution" | "tenant">,
  call: string,
): Promise<PastAgent | undefined> {
  const header = await startedBy(journal, above, call);
  if (header?.kind !== "conversation") return undefined;
  const { use, usage, outcome } = await readBelow(journal, await readState(journal, header.execution, ""));
  return { use, usage, hasEnded: outcome !== undefined };
}

/**
 * The agents that calls of a program have started. Only calls of agents are looked up, of which a program may have made few
 * among thousands: the first call of a tool that gave a value tells whether the tool is an agent.
 */
async function agentsOf(journal: Journal, { state, lines, outcome }: Past) {
  const { header, calls } = state;
  const found: { readonly call: string; readonly isOpen: boolean; readonly agent: PastAgent }[] = [];
  if (!header) return found;
  const areAgents = new Map<string, boolean>();
  const lineIds = new Set(lines.map(({ callId }) => callId));
  const untold = calls.values().filter(({ id }) => !lineIds.has(String(id)));
  const open = untold.map(({ id, tool }) => ({ callId: String(id), tool, outcome: undefined }));
  for (const { callId: call, tool, outcome: end } of [...lines, ...open]) {
    if (areAgents.get(tool) === false) continue;
    const agent = await readAgent(journal, header, call);
    if (agent) found.push({ call, isOpen: outcome === undefined && calls.has(Number(call)), agent });
    if (agent || end?.type === "value") areAgents.set(tool, agent !== undefined);
  }
  return found;
}

const NOT_BEGUN = { program: undefined, driven: false };

interface Below {
  readonly call: string;
  /** Calls that are not open. */
  readonly calls: number;
  readonly lines: readonly CallLine[];
}

/** A call that was made counts once it has a result: a call without a result is made again, and so is an open call of a program. */
function useOf({ calls, open, remembered }: KnownState, turns: readonly KeptTurn[], below: readonly Below[]): PastUse {
  const isMade = ({ type, id }: ModelCall) => type === "program_call" || calls.get(id) !== undefined;
  const answered = turns.flatMap(({ turn, results }) =>
    turn.calls.filter((call) => results.has(call.id) && isMade(call)),
  );
  const inputs = answered.map((call) => (call.type === "tool_call" ? Buffer.byteLength(call.inputText) : 0));
  return {
    calls: answered.length + sumOf(below.map((one) => one.calls)),
    openCalls: 0,
    inputBytes: sumOf(inputs),
    // A call whose result did not reach the model is made again.
    resultBytes: calls.resultBytes - sumOf(calls.lines.map((line) => (open.has(line.callId) ? line.bytes : 0))),
    lines: [
      ...calls.lines.filter(({ callId }) => !open.has(callId)),
      ...below.flatMap(({ call, lines }) => lines.map((line) => ({ ...line, callId: `${call}/${line.callId}` }))),
    ],
    remembered,
  };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0);
}

/** Ends the programs of open calls as cancelled, except programs that another driver takes up. Resolves with the ids of the calls. */
export async function cancelPrograms(
  scope: { readonly journal: Journal; readonly leaseMs: number },
  { open }: PastConversation,
): Promise<ReadonlySet<string>> {
  const cancelled = new Set<string>();
  for (const call of open.values()) {
    if (!call.program || call.program.outcome) continue;
    try {
      await endAsCancelled(scope, call.program);
      cancelled.add(call.id);
    } catch (error) {
      if (!isHeadMoved(error)) throw error;
    }
  }
  return cancelled;
}

/** How a conversation stands, as `Standing` tells of programs. */
export type ConversationStanding =
  | { readonly state: "running" | "ended" }
  | {
      readonly state: "waiting";
      /** It goes no further before the user says more. */
      readonly rests: boolean;
      /** Its calls that wait, including calls of its programs. If it rests, the calls that its host is to answer. */
      readonly calls: readonly UnansweredCall[];
      /** The same calls with their inputs, which are parsed when the field is read. */
      readonly waiting: Waiting;
      /** Why it waits only as long as its driver lives, as `Standing` tells it. */
      readonly held?: "redaction";
    };

/** What people are told of a conversation that is held. */
export const HELD_CONVERSATION =
  "Its journal was redacted and does not hold what happened: only the process that has the conversation can continue it. Once that process has ended, begin a new conversation.";

export function standingOfConversation(past: PastConversation): ConversationStanding {
  if (past.outcome) return { state: "ended" };
  const { header, rest, turns, said } = past;
  const rests = rest !== undefined || (isHeld(header) && turns.length === 0 && said.length === 0);
  const waits = waitingCallsOf(past);
  if (!rests && (waits.length === 0 || waits.some(({ goesOn }) => goesOn))) return { state: "running" };
  return {
    state: "waiting",
    rests,
    calls: waits.flatMap(({ calls }) => calls),
    get waiting() {
      const room = new ListedRoom();
      const all = waits.map((one) => waitingOf(one, room));
      return {
        type: "waiting" as const,
        approvals: all.flatMap(({ approvals }) => approvals),
        calls: all.flatMap(({ calls }) => calls),
        more: sumOf(all.map(({ more = 0 }) => more)) || undefined,
      };
    },
    ...(past.isRedacted && { held: "redaction" as const }),
  };
}

/**
 * What a conversation has come to; undefined if it goes on by itself. It waits for the user if nothing was said in it yet, or if
 * its host asked for a single turn. Rejects with `journal_invalid` for an ending that cannot be read.
 */
export async function endingOf(
  past: PastConversation,
  redactor: Redactor | undefined,
  standing = standingOfConversation(past),
): Promise<AgentEnding | undefined> {
  const text = past.outcome?.outcome ?? past.rest?.ending;
  if (text !== undefined) {
    const { parseEnding } = await import("./parse-message.ts");
    return parseEnding(past.header.execution, text);
  }
  return standing.state === "waiting" ? shownWaiting(standing.waiting, redactor) : undefined;
}

/** What an open call, its program, or a turn that was asked for by `step` waits for. */
interface Waits {
  /** Calls that wait for a person, a client or the host, whether the program does more or not. */
  readonly calls: readonly UnansweredCall[];
  /** The tools of the conversation, or of its program. */
  readonly tools: readonly ToolDigest[];
  readonly execution: ExecutionId | undefined;
  /** What the ids of calls of a program begin with. */
  readonly above: string;
  /** Whether it goes on by itself. */
  readonly goesOn: boolean;
  /** Since when the calls wait for the host, in milliseconds since 1970; missing for calls that the gate has made. */
  readonly hostSince?: number;
}

/** The calls of a conversation and of its programs that wait. The host answers the calls of a turn that it asked for by `step`. */
export function waitingCallsOf({ header, tools, open, outcome, rest }: PastConversation): readonly Waits[] {
  if (outcome) return [];
  const { execution } = header;
  if (rest) return [{ calls: [...open.values()], tools, execution, above: "", goesOn: false, hostSince: rest.at }];
  return [...open.values()].map((call) => {
    const { id, program, driven } = call;
    if (!program) {
      const waits = isWaiting(call) && !isExpired(header, call);
      return { calls: waits ? [call] : [], tools, execution, above: "", goesOn: !waits };
    }
    const { state } = program;
    const goesOn = standingOf(state, driven).state !== "waiting";
    const { execution: own, tools: programTools = [] } = state.header ?? {};
    return { calls: waitingCalls(state, driven), tools: programTools, execution: own, above: `${id}/`, goesOn };
  });
}

function waitingOf({ calls, execution, above, hostSince }: Waits, room: ListedRoom): Omit<Waiting, "type"> {
  if (hostSince !== undefined) {
    const waits = calls.map(({ id, tool, inputText }) => ({ callId: String(id), tool, input: jsonOrText(inputText) }));
    return { approvals: [], calls: waits.map((call) => ({ ...call, since: hostSince })) };
  }
  const waiting = waitingFor(calls, execution, room);
  const under = <Call extends { readonly callId: string }>(call: Call) => ({ ...call, callId: above + call.callId });
  return { ...waiting, approvals: waiting.approvals.map(under), calls: waiting.calls.map(under) };
}
