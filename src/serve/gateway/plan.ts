import { isBlank, Lane, now, passOn, readPlainJson } from "../../base/index.ts";
import type { TranscriptTurn } from "../../conversations/from-journal/index.ts";
import type { MarkedResult } from "../../executions/decide.ts";
import { findOwn } from "../../executions/from-journal/index.ts";
import { ifKnown } from "../../journal/reading/index.ts";
import { toolFacts } from "../../tools/tool-facts.ts";
import { LONGEST } from "./client-tools.ts";
import { isSameConversation, isSameModel, isSameOpening } from "./find-reply.ts";
import { type ClientCall, readReplies, type Replies, type Reply } from "./from-journal/replies.ts";
import type { Exchange } from "./gateway-parts.ts";
import { historyUntil, NO_ANSWER } from "./history.ts";
import { type SurfaceRequest, type AskedAnswer, RefusedAsk } from "./surface/surface.ts";

/** What a request asks of the conversation that it goes on with. */
export interface Plan {
  /**
   * `begin`: another conversation begins, with the history that the client repeats, or that the server has. `go_on`: it
   * goes on, once `results` are noted. `repeat`: the same request was answered before.
   */
  readonly type: "begin" | "go_on" | "repeat";
  readonly history?: readonly TranscriptTurn[];
  readonly results?: Readonly<Record<string, MarkedResult>>;
  /** Whether the client says more. */
  readonly says?: true;
  /** The number of the answer. */
  readonly reply: number;
}

const BEGIN = { type: "begin", says: true, reply: 0 } as const;

/** The conversation that a request may go on with, as its client names it; undefined if it names none of this server. */
export function executionAsked({ ids, asked }: Pick<Exchange, "ids" | "asked">): string | undefined {
  const { state, previous, answers, turns } = asked;
  if (previous !== undefined) return ids.read("reply", previous)?.execution;
  if (!isBound(asked) && answers.size > 0) {
    let execution: string | undefined;
    for (const id of answers.keys()) {
      const one = ids.read("call", id)?.execution;
      if (one === undefined || one !== (execution ??= one)) return undefined;
    }
    return execution;
  }
  if (state !== undefined) return ids.read("state", state)?.execution;
  // To try a seal that is forged takes as long as to try one that is not.
  const programs = (turns.at(-1)?.calls ?? []).filter(({ type }) => type === "program_call").slice(0, PROGRAMS_TRIED);
  for (const { id } of programs) {
    const execution = ids.read("program", id)?.execution;
    if (execution !== undefined) return execution;
  }
  return undefined;
}

/** Programs of one turn whose seals are tried. */
const PROGRAMS_TRIED = 64;

/** Whether a request answers calls of programs, or has programs that wait. */
function isBound({ openPrograms, ofPrograms }: SurfaceRequest): boolean {
  return openPrograms.length > 0 || ofPrograms.size > 0;
}

/**
 * Finds what a request asks of the conversation that it names. Calls of programs can only be answered in the conversation
 * that made them. Calls of the model itself go on there too, unless the client has changed the history: then another
 * conversation begins.
 */
export async function planOf(parts: Exchange, execution: string | undefined): Promise<Plan> {
  const { asked } = parts;
  if (asked.previous !== undefined) return planAfter(parts, asked.previous);
  const bound = isBound(asked);
  // A conversation takes texts and values as results from outside, and no pictures: those are in the history.
  const goesOn = asked.turns.length > 0 && asked.userMessages.length === 0 && !hasParts(asked);
  if (!bound && !goesOn) {
    // The conversation may have ended: nothing of it is asked for.
    if (asked.state !== undefined && !parts.ids.read("state", asked.state)) throw expired();
    return BEGIN;
  }
  if (bound && asked.state === undefined) throw refusedState(STATE_MISSING);
  const mayBegin = !bound && asked.answers.size > 0;
  const replies = execution === undefined ? undefined : await findReplies(parts, execution);
  if (!replies) {
    if (mayBegin) return BEGIN;
    throw expired();
  }
  const plan = await planIn(parts, replies);
  if (bound && plan) refuseOthers(parts, plan, replies);
  if (plan && (bound || (await isSameConversation(parts, replies, plan.reply - 1)))) return plan;
  if (mayBegin) return BEGIN;
  throw refusedState(ANSWERS);
}

/** The answers of a conversation; undefined if it is of another tenant, or its client has deleted it or has left it. */
export async function findReplies(
  { runtime: { journal }, key: { tenant } }: Pick<Exchange, "runtime" | "key">,
  execution: string,
): Promise<Replies | undefined> {
  if (!(await ifKnown(() => findOwn({ journal, tenant }, execution)))) return undefined;
  const replies = await readReplies(journal, execution, tenant);
  return replies.state.outcome ? undefined : replies;
}

/** Undefined if the answers are not those of one reply of this conversation. */
async function planIn(parts: Exchange, replies: Replies): Promise<Plan | undefined> {
  const { all } = replies;
  if (parts.asked.answers.size === 0) {
    const stopped = all.findLastIndex(({ ending }) => ending !== undefined && GOES_ON.has(ending.type));
    return stopped >= 0 && stopped >= all.length - 2 ? { type: "go_on", reply: stopped + 1 } : undefined;
  }
  const place = all.findIndex((reply) => isAnswered(parts, replies, reply));
  return place < 0 ? undefined : planAt(parts, replies, place);
}

/**
 * What the answers to the calls of one reply ask for. Undefined if they come too late for calls of the model itself, or if
 * those had others: the client then goes on with its history. Throws `RefusedAsk` for such answers to calls of a program.
 */
async function planAt(parts: Exchange, replies: Replies, place: number): Promise<Plan | undefined> {
  const [reply, next] = replies.all.slice(place, place + 2) as [Reply, Reply | undefined];
  const isOfProgram = reply.calls.some(isOfPrograms);
  const calls = await new Lane(parts.key.tenant).work(markedCalls(parts, replies, reply));
  if (calls.some(({ answer, mark }) => (answer ?? mark) !== mark)) {
    if (isOfProgram) throw refusedState(ANSWERED);
    return undefined;
  }
  if (next && isWhole(next)) return { type: "repeat", reply: place + 1 };
  const open = calls.filter(({ answer }) => answer === undefined);
  if (open.some(({ expiresAt }) => expiresAt <= now())) {
    if (isOfProgram) throw expired();
    return undefined;
  }
  const results: [string, MarkedResult][] = [];
  for (const { callId, output, mark } of open) results.push([callId, { ...(await resultOf(parts, output)), mark }]);
  return { type: "go_on", results: Object.fromEntries(results), reply: place + 1 };
}

/** The calls of a reply with what a client gives for them. There may be ten thousand, and each takes two digests. */
function* markedCalls({ ids, asked }: Exchange, { state }: Replies, { calls }: Reply) {
  const { execution } = state.header;
  const marked = [];
  for (const call of calls) {
    const output = asked.answers.get(ids.call(execution, call.place)) ?? NO_ANSWER;
    marked.push({ ...call, output, mark: ids.mark(execution, output) });
    yield;
  }
  return marked;
}

/** Refuses another model than that of a waiting program, and tools with which it would reach none or another than it was told of. */
function refuseOthers({ asked, tools }: Exchange, { type, reply }: Plan, { all, state }: Replies): void {
  if (!isSameModel(asked, { state }))
    throw refusedState(`A program of the model ${state.header.model} waits. Send its answers with that model.`);
  const nameOf = (own: string) => tools.clientTool(own)?.name ?? own;
  const moved = tools.all.find(
    (tool) => state.places.has(tool.name) && state.places.get(tool.name) !== toolFacts(tool).place,
  );
  if (moved)
    throw refusedState(
      `A program waits for which ${moved.name} is another tool than ${nameOf(moved.name)}: names that differ only in characters which no identifier has, or behind the ${LONGEST}th, are numbered. Send the same tools again, in the same order.`,
    );
  const declared = new Set(tools.all.map(({ name }) => name));
  const parts = type === "go_on" ? (all[reply - 1]?.parts ?? []) : [];
  for (const part of parts)
    if (part.type === "call" && !declared.has(part.tool))
      throw refusedState(
        `A program waits for a call of ${nameOf(part.tool)}, and the request has no such tool. Send the same tools again.`,
      );
}

/** Endings after which a client asks again without anything new. */
const GOES_ON: ReadonlySet<string> = new Set(["stopped", "turns_spent", "tokens_spent", "stuck"]);

/** Whether nothing is to be added to a reply. */
function isWhole({ ending, calls }: Reply): boolean {
  if (ending) return ending.type !== "provider_failed" && ending.type !== "cancelled";
  const isWaiting = ({ answer, expiresAt }: ClientCall) => answer === undefined && expiresAt > now();
  return calls.some(({ answer }) => answer !== undefined) || (calls.length > 0 && calls.every(isWaiting));
}

function hasParts({ answers }: SurfaceRequest): boolean {
  return answers.values().some(({ parts }) => parts.length > 0);
}

function isOfPrograms({ place }: ClientCall): boolean {
  return place.number !== undefined;
}

function isAnswered({ ids, asked: { answers } }: Exchange, { state }: Replies, { calls }: Reply): boolean {
  const { execution } = state.header;
  return calls.length === answers.size && calls.every(({ place }) => answers.has(ids.call(execution, place)));
}

/** A program gets a value for what looks like one, and text for the rest. */
async function resultOf({ reader }: Exchange, { text, isError }: AskedAnswer): Promise<MarkedResult> {
  if (isError) return { error: isBlank(text) ? "The call failed." : passOn(text) };
  const read = await readPlainJson(text, reader);
  return { value: read?.isStructure ? read : passOn(text) };
}

function refusedState(message: string): RefusedAsk {
  return new RefusedAsk({ kind: "invalid", message });
}

function expired(): RefusedAsk {
  return refusedState(STATE_GONE);
}

const STATE_MISSING =
  "A program waits. Send its state with the answers: the container of the message, or the fingerprint of the program.";

const STATE_GONE = "The container or fingerprint is none of this key, or the program has expired.";

const ANSWERS =
  "The answers are not those that are waited for: send one for each call of the answer before, and no other.";

const ANSWERED =
  "The program has gone on with other results of these calls. Repeat those, or begin again from before the program.";

/** The answers of a conversation up to an earlier one, which the client names in place of the history. */
export async function previousOf(parts: Pick<Exchange, "runtime" | "key" | "ids">, id: string) {
  const sealed = parts.ids.read("reply", id);
  const [reply = 0, isStored] = sealed?.numbers ?? [];
  const replies = sealed && isStored === 1 ? await findReplies(parts, sealed.execution) : undefined;
  const entry = replies?.all[reply];
  return replies && entry ? { replies, reply, entry } : undefined;
}

/** As `planOf`, for a request that goes on after an answer of which the server has the history. */
async function planAfter(parts: Exchange, previous: string): Promise<Plan> {
  const { asked, tools } = parts;
  const found = await previousOf(parts, previous);
  if (!found)
    throw new RefusedAsk({
      kind: "invalid",
      place: "previous_response_id",
      code: "previous_response_not_found",
      message: `Previous response with id '${previous.slice(0, 256)}' not found.`,
    });
  const { replies, reply, entry } = found;
  const isSilent = asked.userMessages.length === 0;
  if (entry.calls.length > 0 || asked.answers.size > 0) {
    if (!isAnswered(parts, replies, entry)) throw refusedState(ANSWERS);
    const bound = entry.calls.some(isOfPrograms);
    if (bound && !isSilent)
      throw refusedState("While a program waits, the input may only have the outputs of its calls.");
    const isSame = bound || (isSilent && !hasParts(asked) && isSameOpening(asked, tools, replies));
    const plan = isSame ? await planAt(parts, replies, reply) : undefined;
    if (bound && plan) refuseOthers(parts, plan, replies);
    if (plan) return plan;
  } else if (isSilent) {
    const plan = await planIn(parts, replies);
    if (plan) return plan;
    throw refusedState("The input has nothing to continue with.");
  } else if (reply === replies.all.length - 1 && entry.ending && isSameOpening(asked, tools, replies))
    return { type: "go_on", says: true, reply: reply + 1 };
  return { ...BEGIN, history: historyUntil(parts, replies, reply) };
}
