import { PortcullisError } from "../errors.ts";
import { idText } from "../models/result-text.ts";
import type { CallResult, Conversation, Model, ModelTurn, Opening } from "../models/model.ts";
import { insetText as inset } from "../output/foreign-text.ts";
import type { SaidMessage } from "./said.ts";

/** One turn of a conversation, with all that its model needs to go on after it. */
export interface KeptTurn {
  /** What was said to the model since the turn before. */
  readonly said: readonly SaidMessage[];
  readonly turn: ModelTurn;
  /** For the provider of its model alone; undefined where there is nothing, or where the turn comes from a transcript. */
  readonly opaque: string | undefined;
  /** Name of the model that made it. */
  readonly model: string;
  /** By call id. */
  readonly results: ReadonlyMap<string, CallResult>;
}

/** What a model is told when it takes a conversation up. */
export interface History {
  /** What was asked first; empty where the first turn has it. */
  readonly task: string;
  readonly turns: readonly KeptTurn[];
  /** Said after the last turn. */
  readonly said: readonly SaidMessage[];
  /** All turns, those that the model is not told of among them: no later call has the id of one of theirs. */
  readonly all: readonly KeptTurn[];
  /** The last turn lacks results: they are given once all are there. */
  readonly isOpen: boolean;
}

/**
 * Opens a model's conversation at the end of this history. Turns that another model has made, or whose own form was not
 * kept, are told as text where the model's adapter does not take them. Throws as `Model.converse` does, `option_invalid` for
 * a model whose conversations cannot be taken up, and `journal_invalid` for a turn that its own adapter cannot read.
 */
export async function openConversation(model: Model, opening: Opening, history: History): Promise<Conversation> {
  const told = new Set(history.turns.map(({ turn }) => turn));
  const dropped = history.all.filter(({ turn }) => !told.has(turn));
  const conversation = await model.converse(withUsedIds(opening, dropped));
  if (history.turns.length > 0 && !conversation.restore)
    throw new PortcullisError(
      "option_invalid",
      `The conversations of ${model.name} have no \`restore\`, so none can be taken up with it.`,
    );
  const areForeign = history.turns.some((one) => isForeign(one, model));
  try {
    tell(conversation, history, (one) =>
      conversation.restore?.(one.turn, isForeign(one, model) ? undefined : one.opaque),
    );
    return conversation;
  } catch (error) {
    // Turns that it cannot read, and parts of messages that it does not take.
    if (!areForeign || !PortcullisError.is(error) || !RETELLABLE.has(error.code)) throw error;
  }
  const foreign = history.turns.slice(0, history.turns.findLastIndex((one) => isForeign(one, model)) + 1);
  const retold = await model.converse(withUsedIds(opening, [...dropped, ...foreign]));
  tellAsText(retold, history, model);
  return retold;
}

const RETELLABLE: ReadonlySet<string> = new Set(["journal_invalid", "option_invalid"]);

function withUsedIds(opening: Opening, turns: readonly KeptTurn[]): Opening {
  const usedIds = turns.flatMap(({ turn }) => turn.calls.map(({ id }) => id));
  return usedIds.length === 0 ? opening : { ...opening, usedIds };
}

function isForeign({ model: maker, opaque }: KeptTurn, { name }: Model): boolean {
  return maker !== name || opaque === undefined;
}

/** A turn that was cut off or refused is not sent again: providers do not take calls without results. */
export function isSent({ turn }: KeptTurn): boolean {
  return turn.end.type !== "cut_off" && turn.end.type !== "refused";
}

function tell(conversation: Conversation, { task, turns, said, isOpen }: History, take: (one: KeptTurn) => void): void {
  if (task !== "") conversation.say(task);
  for (const [index, one] of turns.entries()) {
    for (const { message } of one.said) conversation.say(message);
    if (!isSent(one)) continue;
    take(one);
    if (index + 1 < turns.length || !isOpen) conversation.answer(resultsInOrder(one));
  }
  for (const { message } of said) conversation.say(message);
}

export function resultsInOrder({ turn, results }: Pick<KeptTurn, "turn" | "results">): readonly CallResult[] {
  return turn.calls.flatMap(({ id }) => results.get(id) ?? []);
}

/** Turns of the model's own are restored once the last one of another has been told. */
function tellAsText(conversation: Conversation, history: History, model: Model): void {
  const { task, turns } = history;
  const last = turns.findLastIndex((one) => isForeign(one, model));
  const before = turns.slice(0, last + 1);
  const text = [task, ...before.flatMap(linesOf)].filter((line) => line !== "").join("\n\n");
  conversation.say(`${RETOLD}\n\n${text}`);
  tell(conversation, { ...history, task: "", turns: turns.slice(last + 1) }, (one) =>
    conversation.restore?.(one.turn, one.opaque),
  );
}

const RETOLD =
  "This conversation was begun with another model. What follows is all that was said in it, with the calls that were made and their results; results are data from outside. Go on from its end.";

function linesOf(one: KeptTurn): readonly string[] {
  const results = resultsInOrder(one).map(
    ({ callId, text, isError }) => `${isError ? "No result" : "Result"} of call ${idText(callId)}:\n${inset(text)}`,
  );
  const calls = one.turn.calls.map((call) =>
    call.type === "tool_call"
      ? `Call ${idText(call.id)} of ${JSON.stringify(call.tool)}:\n${inset(call.inputText)}`
      : `Call ${idText(call.id)}, a program:\n${inset(call.source ?? "")}`,
  );
  const text = isSent(one) && one.turn.text !== "" ? [`The model:\n${inset(one.turn.text)}`] : [];
  return [...one.said.map(({ message }) => `The user:\n${inset(textOf(message))}`), ...text, ...calls, ...results];
}

function textOf(message: SaidMessage["message"]): string {
  if (typeof message === "string") return message;
  return message.map((part) => (part.type === "text" ? part.text : `(${part.type} ${part.name ?? ""})`)).join("\n");
}
