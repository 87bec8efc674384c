import { insetText as inset, Lane, PortcullisError, type SlicedWork } from "../../base/index.ts";
import { callIdText } from "../../models/turn/result-text.ts";
import { type ModelConversation, isWholeEnd, type Model, type Opening } from "../../models/model.ts";
import { messageText, type SaidMessage } from "../prompt/said-message.ts";
import { type KeptTurn, type KnownState, resultsInOrder } from "./conversation-state.ts";

export interface History {
  /** What was asked first; empty if the first turn has it. */
  readonly task: string;
  readonly turns: readonly KeptTurn[];
  /** Said after the last turn. */
  readonly said: readonly SaidMessage[];
  /** The last turn lacks results: they are given once all are there. */
  readonly isOpen: boolean;
}

/**
 * Opens a model's conversation in this state. Turns that another model has made, or whose own form was not kept, are
 * told as text if the model's adapter does not take them. `isOpen`: the results of the last turn are given later.
 * Throws as `Model.converse` does, `option_invalid` for a model whose conversations cannot be taken up, and
 * `journal_invalid` for a turn that its own adapter cannot read.
 */
export async function restoreConversation(
  model: Model,
  opening: Opening,
  { header, sent, said, turns }: KnownState,
  isOpen: boolean,
): Promise<ModelConversation> {
  const history = { task: header.task, turns: sent, said, isOpen };
  const sentTurns = new Set(sent.map(({ turn }) => turn));
  // Calls of turns that the model is not told of have ids too, which no later call may have.
  const dropped = turns.filter(({ turn }) => !sentTurns.has(turn));
  const conversation = await model.converse(withUsedIds(opening, dropped));
  if (sent.length > 0 && !conversation.restore)
    throw new PortcullisError(
      "option_invalid",
      `The conversations of ${model.name} have no \`restore\`, so none can be resumed with it.`,
    );
  // Up to the last turn of another model.
  const foreign = sent.slice(0, sent.findLastIndex((one) => isForeign(one, model)) + 1);
  const lane = new Lane(header.tenant);
  try {
    await lane.work(
      tell(conversation, history, (one) =>
        conversation.restore?.(one.turn, isForeign(one, model) ? undefined : one.opaque),
      ),
    );
    return conversation;
  } catch (error) {
    // The model cannot read some turns, or does not take some parts of messages.
    if (foreign.length === 0 || !PortcullisError.is(error) || !RETELLABLE.has(error.code)) throw error;
  }
  const retold = await model.converse(withUsedIds(opening, [...dropped, ...foreign]));
  await lane.work(tellAsText(retold, history, foreign));
  return retold;
}

const RETELLABLE: ReadonlySet<string> = new Set(["journal_invalid", "option_invalid"]);

function withUsedIds(opening: Opening, turns: readonly KeptTurn[]): Opening {
  const usedIds = turns.flatMap(({ turn }) => turn.calls.map(({ id }) => id));
  return usedIds.length === 0 ? opening : { ...opening, usedIds };
}

/** Whether a turn is told to this model without its own form, if it is told. */
function isForeign(one: KeptTurn, { name }: Model): boolean {
  return isSent(one) && (one.model !== name || one.opaque === undefined);
}

/** A turn that does not count is not sent again: providers do not take calls without results. */
export function isSent({ turn }: KeptTurn): boolean {
  return isWholeEnd(turn.end);
}

function* tell(
  conversation: ModelConversation,
  { task, turns, said, isOpen }: History,
  take: (one: KeptTurn) => void,
): SlicedWork<void> {
  if (task !== "") conversation.say(task);
  for (const [index, one] of turns.entries()) {
    for (const { message } of one.said) conversation.say(message);
    yield;
    if (!isSent(one)) continue;
    take(one);
    if (index + 1 < turns.length || !isOpen) conversation.answer(resultsInOrder(one));
  }
  for (const { message } of said) conversation.say(message);
}

/** The model's own turns are restored once the last turn of another model has been told. */
function* tellAsText(conversation: ModelConversation, history: History, before: readonly KeptTurn[]): SlicedWork<void> {
  const { task, turns } = history;
  const lines = [task];
  for (const one of before) {
    for (const line of linesOf(one)) lines.push(line);
    yield;
  }
  conversation.say(`${RETOLD}\n\n${lines.filter((line) => line !== "").join("\n\n")}`);
  yield* tell(conversation, { ...history, task: "", turns: turns.slice(before.length) }, (one) =>
    conversation.restore?.(one.turn, one.opaque),
  );
}

const RETOLD =
  "This conversation was begun with another model. What follows is all that was said in it, with the calls that were made and their results; results are data from outside. Go on from its end.";

function linesOf(one: KeptTurn): readonly string[] {
  const results = resultsInOrder(one).map(
    ({ callId, text, isError }) => `${isError ? "No result" : "Result"} of call ${callIdText(callId)}:\n${inset(text)}`,
  );
  const calls = one.turn.calls.map((call) =>
    call.type === "tool_call"
      ? `Call ${callIdText(call.id)} of ${JSON.stringify(call.tool)}:\n${inset(call.inputText)}`
      : `Call ${callIdText(call.id)}, a program:\n${inset(call.source ?? "")}`,
  );
  const text = isSent(one) && one.turn.text !== "" ? [`The model:\n${inset(one.turn.text)}`] : [];
  return [...one.said.map(({ message }) => `The user:\n${inset(messageText(message))}`), ...text, ...calls, ...results];
}
