import { optionError, PortcullisError } from "../../errors.ts";
import type { CallResult, ModelCall, Opening, TurnReply } from "../../models/model.ts";
import type { GivenTurn, RequestParts, Wire } from "./wire.ts";

/** Length of results after which a stretch of a conversation ends, in UTF-16 code units. */
const STRETCH_LENGTH = 256 * 1024;

/**
 * What a model would have read on this wire last: the last request of a conversation contains all earlier ones. A long
 * conversation is run in stretches: each request repeats everything before it, so twenty megabytes of results in 130 turns
 * would be sent as more than a gigabyte.
 */
export async function recordLastRequest(
  wire: Wire,
  opening: Opening,
  task: string,
  turns: readonly GivenTurn[],
): Promise<RequestParts> {
  if (turns.length === 0) throw optionError("turns", "at least one turn", turns);
  checkIds(turns);
  const requests: RequestParts[] = [];
  for (let first = 0; first < turns.length;) {
    const next = endOfStretch(turns, first);
    let last = "";
    // The results of the last turn of a stretch are in the request for the next turn.
    await converse(wire, opening, task, turns.slice(first, next + 1), (body) => (last = body), first);
    requests.push(wire.partsOf(JSON.parse(last)));
    first = next;
  }
  const [begin, ...later] = requests as [RequestParts, ...RequestParts[]];
  const said = task === "" ? 0 : 1;
  return { ...begin, parts: [begin.parts, ...later.map(({ parts }) => parts.slice(said))].flat() };
}

function endOfStretch(turns: readonly GivenTurn[], first: number): number {
  let length = 0;
  let next = first;
  for (; next < turns.length && (next === first || length < STRETCH_LENGTH); next += 1)
    for (const { text } of turns[next]?.results ?? []) length += text.length;
  // The last turn begins no stretch, because its results are not read.
  return next === turns.length - 1 ? turns.length : next;
}

async function converse(
  wire: Wire,
  opening: Opening,
  task: string,
  turns: readonly GivenTurn[],
  onBody: (body: string) => void,
  first = 0,
): Promise<void> {
  if (opening.hosted)
    throw optionError(
      "opening.hosted",
      "false, because programs at a provider cannot be measured without the provider",
      true,
    );
  let current: GivenTurn["turn"] | undefined;
  // The adapter reports an error thrown in its `fetch` as a failure of the provider, so the error is kept here.
  let thrown: { readonly error: unknown } | undefined;
  const model = wire.connect(async (_, init) => {
    try {
      if (typeof init?.body !== "string" || current === undefined)
        throw new PortcullisError(
          "option_invalid",
          `The adapter of ${wire.provider} sent ${init?.body === undefined ? "no body" : "a body that is not text"}, which cannot be measured: extend recordLastRequest to read what the adapter sends.`,
        );
      onBody(init.body);
      return Response.json(wire.replyOf(current, opening));
    } catch (error) {
      thrown = { error };
      throw error;
    }
  });
  const conversation = await model.converse(opening);
  conversation.say(task);
  for (const [place, { turn, results }] of turns.entries()) {
    current = turn;
    const reply = await conversation.turn({ signal: NEVER, maxTokens: Number.MAX_SAFE_INTEGER, onText: () => {} });
    if (thrown) throw thrown.error;
    checkTaken(wire, first + place, turn, reply);
    if (place === turns.length - 1) break;
    checkAnswered(first + place, turn.calls, results);
    conversation.answer(results);
  }
}

const NEVER = new AbortController().signal;

/** Adapters rename a call whose id occurred before, and label its result differently. */
function checkIds(turns: readonly GivenTurn[]): void {
  const ids = new Set<string>();
  for (const [index, { turn }] of turns.entries())
    for (const { id } of turn.calls) {
      if (ids.has(id)) throw optionError(`turns[${index}]`, "calls with ids of their own", id);
      ids.add(id);
    }
}

/** Checks that the adapter took the turn as it was given. */
function checkTaken(wire: Wire, index: number, turn: GivenTurn["turn"], reply: TurnReply): void {
  const taken = outlineOf(reply);
  const given = outlineOf({ type: "turn", ...turn });
  if (taken === given) return;
  throw new PortcullisError(
    "option_invalid",
    `turns[${index}] cannot be measured on ${wire.provider}: the turn given was ${shorten(given)}, and the adapter read ${shorten(taken)}. Give turns as a transcript has them: each answers or calls, every call has its own id, and calls of tools are direct.`,
  );
}

/** Checks that every call has a result: adapters leave out calls without a result, and no provider would accept the next request. */
function checkAnswered(index: number, calls: readonly ModelCall[], results: readonly CallResult[]): void {
  const answered = new Set(results.map(({ callId }) => callId));
  const open = calls.find(({ id }) => !answered.has(id));
  if (open) throw optionError(`turns[${index}].results`, `one for each call, and so for ${open.id}`, [...answered]);
}

type Taken = Exclude<TurnReply, { readonly type: "turn" }> | ({ readonly type: "turn" } & GivenTurn["turn"]);

function outlineOf(reply: Taken): string {
  if (reply.type === "failed") return `a failure (${reply.failure.message})`;
  if (reply.type === "aborted") return "an end";
  const { end, text, calls } = reply;
  return JSON.stringify([end.type, text, ...calls.map(calledOf)]);
}

function calledOf(call: ModelCall): readonly unknown[] {
  return call.type === "program_call" ? [call.id, call.source] : [call.id, call.tool, call.caller];
}

function shorten(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
