import { isBlank, Lane, now, passOn, readPlainJson, type TextReader } from "../../base/index.ts";
import { ifKnown } from "../../journal/reading/index.ts";
import type { Runtime } from "../../runtime/create-runtime.ts";
import type { MarkedResult } from "../../executions/decide.ts";
import { findOwn } from "../../executions/from-journal/index.ts";
import { type Asked, type AskedAnswer, RefusedAsk, type Surface } from "./surface/surface.ts";
import type { Key } from "../http/keys.ts";
import type { ClientIds } from "./carried/client-ids.ts";
import { type ClientTools, LONGEST } from "./client-tools.ts";
import { toolFacts } from "../../tools/tool-facts.ts";
import type { TranscriptTurn } from "../../conversations/from-journal/index.ts";
import { isSameConversation, isSameModel, isSameOpening } from "./find-reply.ts";
import { historyUntil, NO_ANSWER } from "./history.ts";
import { type ClientCall, type Replies, type Reply, readReplies } from "./from-journal/replies.ts";

/** What a request asks of the conversations that the journal has. */
export type Plan =
  /** Another conversation begins, with the history that the client repeats, or that the server has. */
  | { readonly type: "begin"; readonly history?: readonly TranscriptTurn[] }
  /** A conversation goes on, once these results are noted. The answer is the one of this number. */
  | {
      readonly type: "go_on";
      readonly execution: string;
      readonly results: Readonly<Record<string, MarkedResult>>;
      /** Whether the client says more. */
      readonly says?: true;
      readonly reply: number;
    }
  /** The same request was answered before. */
  | { readonly type: "repeat"; readonly execution: string; readonly reply: number };

/** A plan for a conversation that the journal has. */
type PlanThere = Exclude<Plan, { readonly type: "begin" }>;

export interface PlanParts {
  readonly runtime: Runtime;
  readonly key: Key;
  readonly ids: ClientIds;
  readonly surface: Pick<Surface, "words">;
  readonly reader: TextReader;
}

const BEGIN = { type: "begin" } as const;

/** The conversation that a request may go on with, as its client names it; undefined if it names none of this server. */
export function executionAsked({ ids }: Pick<PlanParts, "ids">, asked: Asked): string | undefined {
  const { state, previous, answers, turns } = asked;
  if (previous !== undefined) return ids.read("reply", previous)?.execution;
  const stated = state === undefined ? undefined : ids.read("state", state)?.execution;
  if (!isBound(asked) && answers.size > 0) return executionOf({ ids }, answers);
  return stated ?? executionOfPrograms({ ids }, turns);
}

/** Whether a request answers calls of programs, or has programs that wait. */
function isBound({ openPrograms, ofPrograms }: Asked): boolean {
  return openPrograms.length > 0 || ofPrograms.size > 0;
}

/** Programs of one turn whose seals are tried: to try one that is forged takes as long as to try one that is not. */
const PROGRAMS_TRIED = 64;

/** The conversation of the last turn's programs, by what their ids seal. */
function executionOfPrograms({ ids }: Pick<PlanParts, "ids">, turns: Asked["turns"]): string | undefined {
  const programs = (turns.at(-1)?.calls ?? []).filter(({ type }) => type === "program_call").slice(0, PROGRAMS_TRIED);
  for (const { id } of programs) {
    const execution = ids.read("program", id)?.execution;
    if (execution !== undefined) return execution;
  }
  return undefined;
}

/**
 * Finds what a request goes on with. Calls of programs can only be answered in the conversation that made them. Calls of
 * the model itself go on there too, unless the client has changed the history: then another conversation begins.
 */
export async function planOf(parts: PlanParts, asked: Asked, tools: ClientTools): Promise<Plan> {
  if (asked.previous !== undefined) return planAfter(parts, asked, tools);
  const bound = isBound(asked);
  // A conversation takes texts and values as results from outside, and no pictures: those are in the history.
  const goesOn = asked.turns.length > 0 && asked.said.length === 0 && !hasParts(asked);
  if (!bound && !goesOn) {
    // The conversation may have ended: nothing of it is asked for.
    if (asked.state !== undefined && !parts.ids.read("state", asked.state)) throw expired(parts);
    return BEGIN;
  }
  if (bound && asked.state === undefined) throw refusedState(parts.surface.words.stateMissing);
  const execution = bound || asked.answers.size === 0 ? await stateOf(parts, asked) : executionOf(parts, asked.answers);
  if (execution === undefined) return BEGIN;
  const replies = await knownReplies(parts, execution);
  if (!replies) {
    if (bound) throw expired(parts);
    return BEGIN;
  }
  const plan = await planIn(parts, execution, { asked, replies });
  if (bound && plan) refuseOthers(plan, replies, { asked, tools });
  if (plan && (bound || (await isSameConversation(asked, tools, { replies, reply: plan.reply - 1 }, parts))))
    return plan;
  if (bound || asked.answers.size === 0) throw refusedState(ANSWERS);
  return BEGIN;
}

/** The conversation that made the calls of the model that are answered; undefined if they are of several, or of none here. */
function executionOf({ ids }: Pick<PlanParts, "ids">, answers: Asked["answers"]): string | undefined {
  let execution: string | undefined;
  for (const id of answers.keys()) {
    const one = ids.read("call", id)?.execution;
    if (one === undefined || one !== (execution ?? one)) return undefined;
    execution = one;
  }
  return execution;
}

/** The conversation of a state; without one, that of the programs that have ended in the last turn. */
async function stateOf(parts: PlanParts, { state, turns }: Asked): Promise<string> {
  const execution = state === undefined ? executionOfPrograms(parts, turns) : parts.ids.read("state", state)?.execution;
  if (execution === undefined || !(await findOf(parts, execution))) throw expired(parts);
  return execution;
}

/** An execution of the key's tenant. */
function findOf({ runtime: { journal }, key: { tenant } }: Pick<PlanParts, "runtime" | "key">, execution: string) {
  return ifKnown(() => findOwn({ journal, tenant }, execution));
}

/** The answers of a conversation; undefined if it is of another tenant, or its client has deleted it or has left it. */
export async function knownReplies(
  parts: Omit<PlanParts, "surface" | "reader">,
  execution: string,
): Promise<Replies | undefined> {
  if (!(await findOf(parts, execution))) return undefined;
  const replies = await readReplies(parts.runtime.journal, execution, parts.key.tenant);
  return replies.state.outcome ? undefined : replies;
}

interface Answering {
  readonly asked: Asked;
  readonly replies: Replies;
}

/** Undefined if the answers are not those of one reply of this conversation. */
async function planIn(
  parts: PlanParts,
  execution: string,
  { asked, replies }: Answering,
): Promise<PlanThere | undefined> {
  const { answers } = asked;
  const { all } = replies;
  const last = all.length - 1;
  if (answers.size === 0) {
    const stopped = all.findLastIndex(({ ending }) => ending !== undefined && GOES_ON.has(ending.type));
    return stopped >= 0 && stopped >= last - 1
      ? { type: "go_on", execution, results: {}, reply: stopped + 1 }
      : undefined;
  }
  const place = all.findIndex(({ calls }) => isAnsweredBy(parts.ids, execution, calls, answers));
  return place < 0 ? undefined : planAt(parts, execution, { asked, replies }, place);
}

/**
 * What the answers to the calls of one reply ask for. Undefined if they come too late for calls of the model itself, or if
 * those had others: the client then goes on with its history. Throws `RefusedAsk` for such answers to calls of a program.
 */
async function planAt(
  parts: PlanParts,
  execution: string,
  { asked, replies: { all } }: Answering,
  place: number,
): Promise<PlanThere | undefined> {
  const { answers } = asked;
  const reply = all[place] as Reply;
  const next = all[place + 1];
  const isBound = reply.calls.some(isOfProgram);
  const said = await new Lane(parts.key.tenant).work(markedCalls(parts, execution, reply, answers));
  if (said.some(({ answer, mark }) => (answer ?? mark) !== mark)) {
    if (isBound) throw refusedState(ANSWERED);
    return undefined;
  }
  if (next && isWhole(next)) return { type: "repeat", execution, reply: place + 1 };
  const open = said.filter(({ answer }) => answer === undefined);
  if (open.some(({ expiresAt }) => expiresAt <= now())) {
    if (isBound) throw expired(parts);
    return undefined;
  }
  const results: [string, MarkedResult][] = [];
  for (const { callId, given, mark } of open) results.push([callId, { ...(await resultOf(parts, given)), mark }]);
  return { type: "go_on", execution, results: Object.fromEntries(results), reply: place + 1 };
}

/** The calls of a reply with what a client gives for them. There may be ten thousand, and each takes two digests. */
function* markedCalls({ ids }: PlanParts, execution: string, { calls }: Reply, answers: Asked["answers"]) {
  const marked = [];
  for (const call of calls) {
    const given = answers.get(ids.call(execution, call.place)) ?? NO_ANSWER;
    marked.push({ ...call, given, mark: ids.mark(execution, given) });
    yield;
  }
  return marked;
}

/** Refuses another model than that of a waiting program, and tools with which it would reach none or another than it was told of. */
function refuseOthers(
  { type, reply }: PlanThere,
  { all, state }: Replies,
  { asked, tools }: { readonly asked: Asked; readonly tools: ClientTools },
): void {
  if (!isSameModel(asked, { state }))
    throw refusedState(`A program of the model ${state.header.model} waits. Send its answers with that model.`);
  const declared = new Set(tools.all.map(({ name }) => name));
  const moved = tools.all.find(
    (tool) => state.places.has(tool.name) && state.places.get(tool.name) !== toolFacts(tool).place,
  );
  if (moved)
    throw refusedState(
      `A program waits for which ${moved.name} is another tool than ${tools.given(moved.name)?.name ?? moved.name}: names that differ only in characters which no identifier has, or behind the ${LONGEST}th, are numbered. Send the same tools again, in the same order.`,
    );
  const parts = type === "go_on" ? (all[reply - 1]?.parts ?? []) : [];
  const part = parts.find((one) => one.type === "call" && !declared.has(one.tool));
  if (part?.type !== "call") return;
  const name = tools.given(part.tool)?.name ?? part.tool;
  throw refusedState(
    `A program waits for a call of ${name}, and the request has no such tool. Send the same tools again.`,
  );
}

/** Endings after which a client asks again without anything new. */
const GOES_ON: ReadonlySet<string> = new Set(["stopped", "turns_spent", "tokens_spent", "stuck"]);

/** Whether nothing is to be added to a reply. */
function isWhole({ ending, calls }: Reply): boolean {
  if (ending) return ending.type !== "provider_failed" && ending.type !== "cancelled";
  return calls.some(({ answer }) => answer !== undefined) || (calls.length > 0 && calls.every(isWaiting));
}

function hasParts({ answers }: Asked): boolean {
  return [...answers.values()].some(({ parts }) => parts.length > 0);
}

function isOfProgram({ place }: ClientCall): boolean {
  return place.number !== undefined;
}

function isWaiting({ answer, expiresAt }: ClientCall): boolean {
  return answer === undefined && expiresAt > now();
}

function isAnsweredBy(
  ids: ClientIds,
  execution: string,
  calls: readonly ClientCall[],
  answers: ReadonlyMap<string, AskedAnswer>,
): boolean {
  return calls.length === answers.size && calls.every(({ place }) => answers.has(ids.call(execution, place)));
}

/** A program gets a value for what looks like one, and text for the rest. */
async function resultOf({ reader }: PlanParts, { text, isError }: AskedAnswer): Promise<MarkedResult> {
  if (isError) return { error: isBlank(text) ? "The call failed." : passOn(text) };
  const read = await readPlainJson(text, reader);
  return { value: read?.isStructure ? read : passOn(text) };
}

function refusedState(message: string): RefusedAsk {
  return new RefusedAsk({ kind: "invalid", message });
}

function expired({ surface }: Pick<PlanParts, "surface">): RefusedAsk {
  return refusedState(surface.words.stateGone);
}

const ANSWERS =
  "The answers are not those that are waited for: send one for each call of the answer before, and no other.";

const ANSWERED =
  "The program has gone on with other results of these calls. Repeat those, or begin again from before the program.";

/** The conversation of an earlier answer, which the client names in place of the history, and the number of that answer. */
export async function previousOf(parts: Omit<PlanParts, "surface" | "reader">, id: string) {
  const sealed = parts.ids.read("reply", id);
  const [reply = 0, isStored] = sealed?.numbers ?? [];
  const replies = sealed && isStored === 1 ? await knownReplies(parts, sealed.execution) : undefined;
  const known = replies?.all[reply];
  return sealed && replies && known ? { execution: sealed.execution, replies, reply, known } : undefined;
}

/** As `planOf`, for a request that goes on after an answer of which the server has the history. */
async function planAfter(parts: PlanParts, asked: Asked, tools: ClientTools): Promise<Plan> {
  const { previous = "", answers, said } = asked;
  const found = await previousOf(parts, previous);
  if (!found)
    throw new RefusedAsk({
      kind: "invalid",
      place: "previous_response_id",
      code: "previous_response_not_found",
      message: `Previous response with id '${previous.slice(0, 256)}' not found.`,
    });
  const { execution, replies, reply, known } = found;
  if (known.calls.length > 0 || answers.size > 0) {
    if (!isAnsweredBy(parts.ids, execution, known.calls, answers)) throw refusedState(ANSWERS);
    const isBound = known.calls.some(isOfProgram);
    if (isBound && said.length > 0)
      throw refusedState("While a program waits, the input may only have the outputs of its calls.");
    const goesOn = said.length === 0 && !hasParts(asked);
    const isSame = isBound || (goesOn && isSameOpening(asked, tools, replies));
    const plan = isSame ? await planAt(parts, execution, { asked, replies }, reply) : undefined;
    if (isBound && plan) refuseOthers(plan, replies, { asked, tools });
    if (plan) return plan;
    return { type: "begin", history: historyUntil({ execution, replies, reply }, parts.ids, answers) };
  }
  const isLast = reply === replies.all.length - 1;
  if (said.length === 0) {
    const plan = await planIn(parts, execution, { asked, replies });
    if (plan) return plan;
    throw refusedState("The input has nothing to go on with.");
  }
  if (isLast && known.ending && isSameOpening(asked, tools, replies))
    return { type: "go_on", execution, results: {}, says: true, reply: reply + 1 };
  return { type: "begin", history: historyUntil({ execution, replies, reply }, parts.ids, answers) };
}
