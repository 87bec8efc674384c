import { optionError, PortcullisError } from "../../errors.ts";
import type { CallResult, ModelCall, Opening, TurnReply } from "../model.ts";
import type { GivenTurn, RequestParts, Wire } from "./wire.ts";

/**
 * Lets the wire's adapter have a conversation whose turns and results are given, and resolves with what its model would
 * have read: one request before each turn, the parts of each a beginning of those of the next.
 */
export async function recordRequests(
  wire: Wire,
  opening: Opening,
  task: string,
  turns: readonly GivenTurn[],
): Promise<readonly RequestParts[]> {
  const requests: RequestParts[] = [];
  await converse(wire, opening, task, turns, (body) => requests.push(wire.partsOf(JSON.parse(body))));
  return requests;
}

/** The last of those requests only, which has in it all that was ever read: the others, which may be large, are not parsed. */
export async function recordLastRequest(
  wire: Wire,
  opening: Opening,
  task: string,
  turns: readonly GivenTurn[],
): Promise<RequestParts> {
  if (turns.length === 0) throw optionError("turns", "at least one turn", turns);
  let last = "";
  await converse(wire, opening, task, turns, (body) => {
    last = body;
  });
  return wire.partsOf(JSON.parse(last));
}

async function converse(
  wire: Wire,
  opening: Opening,
  task: string,
  turns: readonly GivenTurn[],
  onBody: (body: string) => void,
): Promise<void> {
  if (opening.hosted)
    throw optionError("opening.hosted", "false, for a provider's own programs cannot be measured without it", true);
  let current: GivenTurn["turn"] | undefined;
  // An adapter says of what is thrown in here only that its provider failed.
  let thrown: { readonly error: unknown } | undefined;
  const model = wire.connect(async (_, init) => {
    try {
      if (typeof init?.body !== "string" || current === undefined) throw notAsked(wire, init?.body);
      onBody(init.body);
      return Response.json(wire.replyOf(current, opening));
    } catch (error) {
      thrown = { error };
      throw error;
    }
  });
  const conversation = await model.converse(opening);
  conversation.say(task);
  for (const [index, { turn, results }] of turns.entries()) {
    current = turn;
    const reply = await conversation.turn({ signal: NEVER, mostTokens: Number.MAX_SAFE_INTEGER, onText: () => {} });
    if (thrown) throw thrown.error;
    checkTaken(wire, index, turn, reply);
    if (index < turns.length - 1) checkAnswered(index, turn.calls, results);
    if (turn.calls.length > 0) conversation.answer(results);
  }
}

const NEVER = new AbortController().signal;

/** What is measured is to be the conversation that was given, and no other. */
function checkTaken(wire: Wire, index: number, turn: GivenTurn["turn"], reply: TurnReply): void {
  const taken = outlineOf(reply);
  const given = outlineOf({ type: "turn", ...turn });
  if (taken === given) return;
  throw new PortcullisError(
    "option_invalid",
    `turns[${index}] cannot be measured on ${wire.provider}: given was ${shorten(given)}, and its adapter took ${shorten(taken)}. Give turns that answer or call, with ids of their own and direct calls of tools, as a transcript has them.`,
  );
}

/** Adapters leave out what has no result, and no provider would take the next request. */
function checkAnswered(index: number, calls: readonly ModelCall[], results: readonly CallResult[]): void {
  const answered = results.map(({ callId }) => callId);
  const open = calls.find(({ id }) => !answered.includes(id));
  if (open) throw optionError(`turns[${index}].results`, `one for each call, and so for ${open.id}`, answered);
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

function notAsked(wire: Wire, body: unknown): PortcullisError {
  return new PortcullisError(
    "option_invalid",
    `The adapter of ${wire.provider} sent ${body === undefined ? "no body" : "a body that is no text"}, which cannot be measured: teach recordRequests what it has learned to send.`,
  );
}
