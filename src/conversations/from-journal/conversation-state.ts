import { memoryOf, PortcullisError } from "../../base/index.ts";
import { type RememberedDecision, rememberedIn } from "../../gate/approve/remembered.ts";
import { type PastArtifact, pastArtifact } from "../../journal/artifact-space.ts";
import type {
  ConversationHeader,
  JournalRecord,
  MessageRecord,
  OutcomeRecord,
  RestRecord,
  ToolDigest,
} from "../../journal/record.ts";
import type { CallResult, ModelCall, ModelTurn, UserMessage, ModelUsage } from "../../models/model.ts";
import { applyToCall, CallHistory, isOfCall, type HistoryAnswer } from "../../executions/from-journal/call-history.ts";
import type { UnansweredCall } from "../../executions/from-journal/execution-state.ts";
import type { Caller } from "../../tools/tool.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";
import type { SaidMessage } from "../prompt/said-message.ts";
import type { AgentEnding } from "../event.ts";
import type { ProgramsOption } from "../prompt/programs-option.ts";

/** One turn of a conversation, with all that its model needs to go on after it. */
export interface KeptTurn {
  /** What was said to the model since the turn before. */
  readonly said: readonly SaidMessage[];
  readonly turn: ModelTurn;
  /** State for the model's provider alone; undefined if there is none, or if the turn comes from a transcript. */
  readonly opaque: string | undefined;
  readonly model: string;
  /** By call id. */
  readonly results: ReadonlyMap<string, CallResult>;
}

export function resultsInOrder({ turn, results }: Pick<KeptTurn, "turn" | "results">): readonly CallResult[] {
  return turn.calls.flatMap(({ id }) => results.get(id) ?? []);
}

export function callsWithoutResult({ turn, results }: KeptTurn): readonly ModelCall[] {
  return turn.calls.filter(({ id }) => !results.has(id));
}

/** A turn whose calls may lack results. */
interface TakenTurn extends KeptTurn {
  /** When it was taken, in milliseconds since 1970. */
  readonly at: number;
  /** Its calls by their ids. */
  readonly calls: ReadonlyMap<string, ModelCall>;
  readonly results: Map<string, CallResult>;
}

export interface UnansweredModelCall extends UnansweredCall {
  readonly id: string;
}

interface Answering {
  readonly model: string;
  /** System text of the developer's, for that model. */
  readonly instructions: string | undefined;
}

/** The drivers of a conversation, as far as the next one has to know them. */
interface Drivers {
  /** Whether a driver has taken the conversation over since the last turn. */
  readonly isTakenUp: boolean;
  /** Span of the latest driver that had one. */
  readonly trace: string | undefined;
}

/** What the records of a conversation amount to, for its driver, a driver that takes it over, a list and a view. */
export class ConversationState {
  header: ConversationHeader | undefined;
  /** Number of records applied. */
  records = 0;
  /** Memory that its texts take, as they are kept and as its model is sent them. */
  bytes = 0;
  readonly turns: TakenTurn[] = [];
  /** Its turns as its model is sent them. */
  sent: KeptTurn[] = [];
  /** Said after the last turn. */
  said: SaidMessage[] = [];
  /** Number of turns before what the user said last. */
  turnsBefore = 0;
  answering: Answering = { model: "", instructions: undefined };
  tools: readonly ToolDigest[] = [];
  /** Where the calls of each tool run that it has had. Its programs may still call the first one of a name. */
  readonly places = new Map<string, string | undefined>();
  /** It goes no further before the user says more. */
  rest: RestRecord | undefined;
  /** Calls of the last turn without results, by their ids. */
  open = new Map<string, UnansweredModelCall>();
  /** The model's own calls, without those of turns that were copied. */
  readonly calls = new CallHistory();
  /** Decisions that also hold for later calls. */
  remembered: RememberedDecision[] = [];
  /** What its programs have kept, and results that were too large. */
  readonly artifacts: PastArtifact[] = [];
  drivers: Drivers = { isTakenUp: false, trace: undefined };
  /** Its journal does not hold what happened, because it was redacted. */
  isRedacted = false;
  outcome: OutcomeRecord | undefined;
}

export type KnownState = ConversationState & { readonly header: ConversationHeader };

/** What the text of a message, or of a shortened history, holds. */
export type HistoryContent =
  | { readonly turn: ModelTurn }
  | { readonly results: readonly CallResult[] }
  | { readonly said: readonly SaidMessage[] }
  | { readonly history: readonly CompactTurn[] };

export interface CompactTurn {
  /** Place among all turns, from 0. */
  readonly turn: number;
  /** Missing if nothing changed. */
  readonly said?: readonly SaidMessage[];
  /** The results that are shorter than they were. */
  readonly results: readonly CallResult[];
}

/**
 * Applies one record. `content` is what its text holds, for a record that has such a text: a driver has it already, a reader
 * takes it from `readContent`. Throws `journal_invalid` for a shortened history of turns that were not sent.
 */
export function applyTurnRecord(state: ConversationState, record: JournalRecord, content?: HistoryContent): void {
  state.records += 1;
  const isRestored = RESTORED.has(record.type) || (record.type === "call" && record.input !== undefined);
  state.isRedacted ||= "redacted" in record && record.redacted !== undefined && isRestored;
  // When its last turn made the call that the record is about.
  const last = state.turns.at(-1);
  state.calls.note(record, record.type === "call" && last?.calls.has(record.call) ? last.at : undefined);
  if (isOfCall(record)) applyToCall(state.open.get(record.call), record);
  state.bytes += COPIES * textsOf(record).reduce((sum, text = "") => sum + memoryOf(text), 0);
  switch (record.type) {
    case "header":
      if (record.kind === "conversation") begin(state, record);
      break;
    case "claim":
      state.drivers = { isTakenUp: true, trace: record.trace ?? state.drivers.trace };
      break;
    case "message":
      if (content && "turn" in content) takeTurn(state, content.turn, record);
      else if (content && "results" in content) takeResults(state, content.results, record.at);
      else if (content && "said" in content) takeSaid(state, content.said);
      break;
    case "compact":
      if (content && "history" in content) state.sent = shortened(state, content.history);
      break;
    case "rest":
      state.rest = record;
      break;
    case "model":
      state.answering = {
        model: record.model,
        instructions: record.instructions ?? state.answering.instructions,
      };
      break;
    case "tools":
      takeTools(state, record.tools);
      // The journal cannot tell a tool from another tool of the same name and interface.
      state.remembered = [];
      break;
    case "decision":
      state.remembered.push(...rememberedIn([record], (id) => state.open.get(id), state.tools));
      break;
    case "artifact":
      state.artifacts.push(pastArtifact(record, state.records - 1));
      break;
    case "outcome":
      state.outcome = record;
      break;
    default:
  }
}

/** What is read, and what its model is sent. */
const COPIES = 2;

/** The texts of a record that its state keeps. */
function textsOf(record: JournalRecord): readonly (string | undefined)[] {
  if (record.type === "message") return [record.message, record.opaque];
  if (record.type === "compact") return [record.history];
  return record.type === "header" && record.kind === "conversation" ? [record.task] : [];
}

/** Records that a conversation is taken up with. */
const RESTORED: ReadonlySet<string> = new Set(["header", "message", "compact", "decision", "result"]);

function begin(state: ConversationState, header: ConversationHeader): void {
  state.header = header;
  state.drivers = { ...state.drivers, trace: header.trace };
  state.answering = { model: header.model, instructions: header.instructions };
  takeTools(state, header.tools);
}

function takeTools(state: ConversationState, tools: readonly ToolDigest[]): void {
  state.tools = tools;
  for (const { name, place } of tools) if (!state.places.has(name)) state.places.set(name, place);
}

function takeTurn(state: ConversationState, turn: ModelTurn, { opaque, at }: MessageRecord): void {
  const keptTurn = {
    said: state.said,
    turn,
    opaque,
    model: state.answering.model,
    results: new Map<string, CallResult>(),
    at,
    calls: new Map(turn.calls.map((call) => [call.id, call])),
  };
  state.turns.push(keptTurn);
  state.sent.push(keptTurn);
  state.said = [];
  state.rest = undefined;
  state.drivers = { ...state.drivers, isTakenUp: false };
  state.open = new Map(turn.calls.map((call) => [call.id, unanswered(call)]));
}

function unanswered(call: ModelCall): UnansweredModelCall {
  const { id } = call;
  if (call.type === "tool_call") return { id, tool: call.tool, inputText: call.inputText };
  return { id, tool: RUN_PROGRAM, inputText: JSON.stringify(call.source ?? null) };
}

function takeResults(state: ConversationState, results: readonly CallResult[], at: number): void {
  const { open, turns } = state;
  for (const result of results) {
    open.delete(result.callId);
    turns.at(-1)?.results.set(result.callId, result);
    endCall(state, result, at);
  }
}

/**
 * A call that the host has answered by hand, or has given up while it was to answer it, may have no record but its
 * result. Any other failure without a record is of a call that was not made.
 */
function endCall({ calls, turns, rest, header }: ConversationState, result: CallResult, at: number): void {
  const { callId: id, isError } = result;
  const isHosts = (!isError || rest !== undefined) && turns.length > copiedTurns({ header });
  if (isHosts && !calls.get(id)) {
    const last = turns.at(-1);
    const call = last?.calls.get(id);
    if (last && call?.type === "tool_call")
      calls.make({ id, tool: call.tool, caller: call.caller as Caller, at: last.at, inputBytes: 0 });
  }
  calls.tell(id, resultAnswer(result, at));
}

/** The answer of a call that has no record but its result. Its message does not say whether it was an answer. */
export function resultAnswer({ isError, provenance }: CallResult, at: number): HistoryAnswer {
  return { ok: !isError, bytes: provenance.bytes, at: provenance.at ?? at, code: () => undefined };
}

function takeSaid(state: ConversationState, messages: readonly SaidMessage[]): void {
  // There may be more than a function takes arguments.
  for (const one of messages) state.said.push(one);
  if (messages.every(({ by }) => by === "user")) state.turnsBefore = state.turns.length - (state.open.size > 0 ? 1 : 0);
  state.rest = undefined;
}

/** A history says what changes in what was sent before it, which may have been shortened already. */
function shortened({ turns, sent }: ConversationState, history: readonly CompactTurn[]): KeptTurn[] {
  const before = new Map(sent.map((kept) => [kept.turn, kept]));
  return history.map(({ turn: place, said: messages, results }) => {
    const whole = turns[place];
    const kept = whole && before.get(whole.turn);
    if (!kept) throw new PortcullisError("journal_invalid", "The shortened history has a turn that was not sent.");
    const changed = results.map((result) => [result.callId, result] as const);
    return { ...kept, said: messages ?? kept.said, results: new Map([...kept.results, ...changed]) };
  });
}

/** The turns since the user said something, which `maxTurns` counts. */
export function turnsOfSend(state: Pick<ConversationState, "turns" | "turnsBefore" | "header">): readonly KeptTurn[] {
  return state.turns.slice(Math.max(state.turnsBefore, copiedTurns(state)));
}

export function messagesOfSend(state: ConversationState): readonly SaidMessage[] {
  return [...turnsOfSend(state).flatMap(({ said }) => said), ...state.said];
}

/** What the user has said so far: the task, if it began with one, and all messages. */
export function userMessages({
  header,
  turns,
  said,
}: Pick<ConversationState, "turns" | "said" | "header">): readonly UserMessage[] {
  const first = header === undefined || header.task === "" ? [] : [header.task];
  const all = [...turns.map((one) => one.said), said].flat();
  return [...first, ...all.flatMap(({ by, message }) => (by === "user" ? [message] : []))];
}

/** Number of turns that were copied from the conversation that this one continues: they count nothing here. */
export function copiedTurns({ header }: Pick<ConversationState, "header">): number {
  return header?.continues?.turns ?? 0;
}

/** Whether its last turn has not been closed: calls lack results, or nothing followed it. */
export function hasOpenTurn({ turns, open, said, rest }: ConversationState): boolean {
  return open.size > 0 || (turns.length > 0 && said.length === 0 && rest === undefined);
}

/** Whether it goes on after an ending, when the user says more: it was begun without a task. */
export function isHeld({ task }: Pick<ConversationHeader, "task">): boolean {
  return task === "";
}

/** Maximum of calls in one turn. A hosted program makes some hundreds at once. */
export const MAX_TURN_CALLS = 1000;
/** Maximum of what one turn tells of the provider's own programs and calls. */
export const MAX_TURN_HOSTED = 2 * MAX_TURN_CALLS;
/** Characters of a call's id, and of its tool: the state of a conversation finds calls by them. */
export const MAX_ID_LENGTH = 10_000;

/** Whether a call of a turn has a longer id, or a tool with a longer name. */
export function hasLongNames({ calls, hosted }: Pick<ModelTurn, "calls" | "hosted">): boolean {
  const ownNames = calls.flatMap((one) => [one.id, "tool" in one ? one.tool : ""]);
  const hostedNames = hosted.flatMap((one) => ("call" in one ? [one.call, one.tool] : []));
  return [...ownNames, ...hostedNames].some((name) => name.length > MAX_ID_LENGTH);
}

/** One turn of the model, and the results of its calls. */
export interface TranscriptTurn {
  /** What was said to the model since the turn before; missing if nothing was said. The first turn also has the task. */
  readonly said?: readonly SaidMessage[];
  readonly turn: ModelTurn;
  /** The model that made the turn, which may be a fallback. Always there in transcripts of reports. */
  readonly model?: string;
  /**
   * A result for each call, in the same order; also for calls that were not made. In the last turn of a conversation
   * that waits, only the results that are there.
   */
  readonly results: readonly CallResult[];
}

export function transcriptTurns(turns: readonly KeptTurn[]): readonly TranscriptTurn[] {
  return turns.map((one) => {
    // What a model has told of its reasoning is for those who watched it: a transcript goes to others.
    const { reasoning, ...turn } = one.turn;
    return {
      said: one.said.length > 0 ? one.said : undefined,
      turn: reasoning === undefined ? one.turn : turn,
      model: one.model,
      results: resultsInOrder(one),
    };
  });
}

/**
 * A conversation as plain JSON. It contains no key and no data that only the provider can read. It contains what the
 * tools returned.
 */
export interface Transcript {
  readonly format: 1;
  readonly model: string;
  readonly task: string;
  readonly programs: ProgramsOption;
  readonly tools: readonly string[];
  readonly turns: readonly TranscriptTurn[];
  /** What was said after the last turn. */
  readonly said?: readonly SaidMessage[];
  readonly ending: AgentEnding;
}

/** Usage of a conversation, including its programs and the agents that it called. */
export interface AgentUsage extends ModelUsage {
  /** Turns of the conversation's own model. */
  readonly turns: number;
  /** Calls of tools that have ended, as many as `report.calls`. A program is none: the calls that it makes are. */
  readonly calls: number;
  /** Calls of tools of their own that providers have made, like searches; missing if there were none. */
  readonly hostedCalls?: number;
  /** Of `calls`, those that were answered as an earlier program was: no handler ran. Missing if none was. */
  readonly reused?: number;
}
