/*
 * What a conversation of the gateway has told its client, read from the journal alone: the answers that it gave or would
 * give, in their order. The records of the conversation and of its programs come in; one `Reply` for each answer goes out.
 * An answer ends where the conversation waits for its client, or rests.
 */
import { startedBy } from "../../../conversations/index.ts";
import type { AgentEnding } from "../../../conversations/event.ts";
import {
  applyTurnRecord,
  ConversationState,
  copiedTurns,
  type KnownState,
  parseEnding,
  readContent,
} from "../../../conversations/from-journal/index.ts";
import type { ExecutionId, SlicedWork } from "../../../base/index.ts";
import { NO_ITEMS, readRecords } from "../../../journal/reading/index.ts";
import type { Journal } from "../../../journal/journal.ts";
import type { CallRecord, JournalRecord, ResultRecord } from "../../../journal/record.ts";
import { type ModelCall, type ModelUsage, NO_USAGE, sumOfUsage } from "../../../models/model.ts";
import type { ProgramBytes, ProgramEnded } from "../surface/surface.ts";
import { dueAt } from "../../../gate/approve/call-waits.ts";
import { type AskedCalls, resultMark, readProgramCalls } from "./program-calls.ts";

/** Where a call is: its turn, its place in the turn, and its number if a program makes it. */
export interface CallPlace {
  readonly turn: number;
  readonly call: number;
  readonly number?: number | undefined;
}

export type JournalPart =
  | { readonly type: "text" | "reasoning"; readonly turn: number; readonly text: string }
  | ({ readonly place: CallPlace } & (
      | {
          readonly type: "call";
          readonly tool: string;
          /** Undefined if it was redacted, and no driver here has it. */
          readonly inputText: string | undefined;
        }
      | { readonly type: "program"; readonly source: string }
      | ProgramEnded
    ));

/** A call that the client answers. */
export interface ClientCall {
  /** As the conversation calls it: `call_2/17` for a call of a program. */
  readonly callId: string;
  readonly place: CallPlace;
  /** The mark of what the client has answered; undefined if the call waits. */
  readonly answer: number | undefined;
  /** When it waits no longer, in milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface Reply {
  readonly parts: JournalPart[];
  /** The calls for which its client is asked. */
  readonly calls: ClientCall[];
  usage: ModelUsage;
  readonly programs: { -readonly [Name in keyof ProgramBytes]: number };
  /** How the conversation rests after it; undefined if it waits, or goes on. */
  ending: AgentEnding | undefined;
}

export interface Replies {
  readonly state: KnownState;
  readonly all: readonly Reply[];
}

/** Reads the answers of a conversation. Rejects as the journal does. */
export async function readReplies(journal: Journal, execution: ExecutionId, tenant: string): Promise<Replies> {
  const state = new ConversationState();
  const log: TurnLog = { calls: new Map(), results: new Map(), rests: new Map() };
  const records = readRecords(journal, execution, { tenant, ...NO_ITEMS });
  const take = function* (record: JournalRecord): SlicedWork<void> {
    applyTurnRecord(state, record, yield* readContent(record));
    const turn = state.turns.length - 1;
    if (record.type === "call" && record.decision === "client") log.calls.set(`${turn} ${record.call}`, record);
    if (record.type === "result") log.results.set(`${turn} ${record.call}`, record);
    if (record.type === "rest") log.rests.set(turn, record.ending);
  };
  await records.each((record) => take(record));
  const { header } = state;
  if (!header) throw new Error("A conversation has a header.");
  const fullState = Object.assign(state, { header });
  return { state: fullState, all: await toldIn(journal, fullState, log) };
}

/** The number of turns that a conversation had when it had given the answer of this number. */
export function turnsUntil({ state, all }: Replies, reply: number): number {
  const allParts = all.slice(0, reply + 1).flatMap(({ parts }) => parts);
  return Math.max(copiedTurns(state), ...allParts.map((part) => ("place" in part ? part.place.turn : part.turn) + 1));
}

/** What the records between two turns say, by the number of the turn before them and the call. */
interface TurnLog {
  readonly calls: Map<string, CallRecord>;
  readonly results: Map<string, ResultRecord>;
  readonly rests: Map<number, string | undefined>;
}

async function toldIn(journal: Journal, state: KnownState, log: TurnLog): Promise<readonly Reply[]> {
  const all: Reply[] = [emptyReply()];
  const replyAt = (place: number): Reply => {
    while (all.length <= place) all.push(emptyReply());
    return all[place] as Reply;
  };
  let base = 0;
  const first = copiedTurns(state);
  for (const [turn, one] of state.turns.entries()) {
    if (turn < first) continue;
    const reply = replyAt(base);
    reply.ending = undefined;
    reply.usage = sumOfUsage([reply.usage, one.turn.usage]);
    if (one.turn.reasoning !== undefined) reply.parts.push({ type: "reasoning", turn, text: one.turn.reasoning });
    if (one.turn.text !== "") reply.parts.push({ type: "text", turn, text: one.turn.text });
    let rounds = 0;
    for (const [call, modelCall] of one.turn.calls.entries()) {
      const asked = await askedBy(journal, state, { modelCall, log, turn });
      rounds = Math.max(rounds, asked.rounds);
      tellCall({ modelCall, result: one.results.get(modelCall.id), asked, place: { turn, call } }, (round) =>
        replyAt(base + round),
      );
    }
    base += rounds;
    const rest = log.rests.get(turn);
    if (rest === undefined) continue;
    const ending = parseEnding(state.header.execution, rest);
    replyAt(base).ending = ending;
    if (!UNTOLD.has(ending.type)) base += 1;
  }
  return all;
}

/** Endings that were no answer: what comes after them belongs to the same one. */
const UNTOLD: ReadonlySet<AgentEnding["type"]> = new Set(["provider_failed", "cancelled"]);

export function emptyReply(): Reply {
  const programs = { calls: 0, bytes_in: 0, bytes_out: 0 };
  return { parts: [], calls: [], usage: NO_USAGE, programs, ending: undefined };
}

interface MadeCall {
  readonly modelCall: ModelCall;
  readonly log: TurnLog;
  readonly turn: number;
}

const NOT_ASKED: AskedCalls = { calls: [], rounds: 0, bytesIn: [], isLeft: false, isLate: false };

/** What a call asks the client for: itself, or the calls of its program. */
async function askedBy(
  journal: Journal,
  { header }: KnownState,
  { modelCall, log, turn }: MadeCall,
): Promise<AskedCalls> {
  if (modelCall.type === "tool_call") {
    const record = log.calls.get(`${turn} ${modelCall.id}`);
    if (!record) return NOT_ASKED;
    const result = log.results.get(`${turn} ${modelCall.id}`);
    const answer = result && resultMark(result);
    const { id, tool } = modelCall;
    const inputText = record.input ?? modelCall.inputText;
    const expiresAt = dueAt(record.at, header.limits.waitMs);
    const call = { id, tool, inputText, round: 0, answer, expiresAt };
    return { ...NOT_ASKED, calls: [call], rounds: result ? 1 : 0 };
  }
  const program = await startedBy(journal, header, modelCall.id);
  return program ? readProgramCalls(journal, program.execution, header.tenant) : NOT_ASKED;
}

interface ToldCall {
  readonly modelCall: ModelCall;
  readonly result: { readonly text: string; readonly isError: boolean } | undefined;
  readonly asked: AskedCalls;
  readonly place: CallPlace;
}

/** Tells of one call of a turn. Calls that the gate has answered itself are none of the client's. */
function tellCall({ modelCall, result, asked, place }: ToldCall, replyAt: (round: number) => Reply): void {
  const isProgram =
    modelCall.type === "program_call" && modelCall.source !== undefined && modelCall.forbidden === undefined;
  if (isProgram) replyAt(0).parts.push({ type: "program", place, source: modelCall.source });
  for (const { id, tool, inputText, round, answer, expiresAt } of asked.calls) {
    const own = isProgram ? { ...place, number: Number(id) } : place;
    const reply = replyAt(round);
    reply.parts.push({ type: "call", place: own, tool, inputText });
    reply.calls.push({ callId: isProgram ? `${modelCall.id}/${id}` : id, place: own, answer, expiresAt });
    if (isProgram) reply.programs.calls += 1;
  }
  for (const [round, bytes] of asked.bytesIn.entries()) replyAt(round).programs.bytes_in += bytes;
  if (!isProgram || !result || asked.isLeft) return;
  const reply = replyAt(asked.rounds);
  const { text, isError } = result;
  reply.parts.push({ type: "program_ended", place, text, isError, isLate: asked.isLate });
  reply.programs.bytes_out += Buffer.byteLength(text);
}
