import { isDeepStrictEqual } from "node:util";
import { settingsOf } from "../../conversations/index.ts";
import { messageText } from "../../conversations/prompt/said-message.ts";
import { areSame, Lane, type SlicedWork, asUntrusted, type UntrustedText } from "../../base/index.ts";
import { areRecorded } from "../../gate/header-base.ts";
import type { CallResult, ContentPart, UserMessage } from "../../models/model.ts";
import type { SurfaceRequest, AskedAnswer } from "./surface/surface.ts";
import type { ClientTools } from "./client-tools.ts";
import { type CallPlace, type Replies, type JournalPart, turnsUntil } from "./from-journal/replies.ts";
import type { Exchange } from "./gateway-parts.ts";
import { requestSettings } from "./say-options.ts";

/*
 * Whether a request goes on with a conversation that the journal has: its client repeats the whole history, and may have
 * changed it.
 */

/** What the messages of a request, or the turns of a conversation, come to for the client. */
interface Item {
  readonly message?: string;
  /** What was said that is no text. */
  readonly shown?: readonly ContentPart[];
  readonly text?: string;
  readonly program?: string;
  readonly tool?: string;
  /** Of a call. Clients write it anew. */
  readonly input?: UntrustedText;
  /** Of a call or a program; of an answer in the journal its mark. Undefined there if it is given now. */
  readonly result?: AskedAnswer | number | undefined;
}

/** Whether the client asks the model that the conversation has, whose name it may send without its provider. */
export function isSameModel({ model: asked }: SurfaceRequest, { state }: Pick<Replies, "state">): boolean {
  const { model } = state.header;
  return asked === model || asked === model.slice(model.indexOf(":") + 1);
}

/** Whether the client asks the same model, with the same tools, instructions and settings. */
export function isSameOpening(asked: SurfaceRequest, tools: ClientTools, { state }: Pick<Replies, "state">): boolean {
  if (!isSameModel(asked, { state })) return false;
  const { instructions } = state.answering;
  const own = asked.instructions === undefined ? undefined : `# Instructions\n\n${asked.instructions.trim()}`;
  if (asked.settings.answer === undefined && own !== instructions) return false;
  if (!areRecorded(tools.all, state.tools)) return false;
  return isDeepStrictEqual(settingsOf(state.header).settings ?? {}, { ...requestSettings(asked, tools) });
}

/** Whether the client asks the same after the history that ends with an answer of this number. */
export async function isSameConversation(
  { asked, tools, ids, reader }: Exchange,
  replies: Replies,
  reply: number,
): Promise<boolean> {
  if (!isSameOpening(asked, tools, replies)) return false;
  const [own, history] = [joined(itemsAsked(asked, tools)), joined(itemsUntil(replies, reply))];
  const { execution } = replies.state.header;
  const isSameResult = (now: Item["result"], before: Item["result"]) =>
    typeof before === "number" && typeof now === "object"
      ? now.parts.length === 0 && ids.mark(execution, now) === before
      : before === undefined || isDeepStrictEqual(now, before);
  const inputs: (readonly [UntrustedText, UntrustedText])[] = [];
  const areItems = function* (): SlicedWork<boolean> {
    for (const [index, { input, result, ...words }] of own.entries()) {
      const { input: there, result: before, ...others } = history[index] ?? {};
      if (!isDeepStrictEqual(words, others) || !isSameResult(result, before)) return false;
      if (input !== undefined && there !== undefined) inputs.push([input, there]);
      yield;
    }
    return own.length === history.length;
  };
  return (await new Lane(reader.tenant).work(areItems())) && areSame(inputs, reader);
}

function itemsAsked({ turns }: SurfaceRequest, tools: ClientTools): readonly Item[] {
  return turns.flatMap(({ userMessages, text, calls, results }): Item[] => [
    ...userMessages.map(itemSaid),
    { text },
    ...calls.map((call): Item => {
      const result = results.get(call.id);
      if (call.type === "program_call") return { program: call.source ?? "", result };
      return { tool: tools.own(call.tool), input: asUntrusted(call.inputText), result };
    }),
  ]);
}

function itemSaid(message: UserMessage): Item {
  const parts = typeof message === "string" ? [] : message.filter((part) => part.type !== "text");
  return { message: messageText(message), shown: parts };
}

/** The calls that the client has seen, by turn and place, with their results. */
function shownCalls({ all }: Replies): ReadonlyMap<string, Item["result"]> {
  const shown = new Map<string, Item["result"]>();
  for (const { parts, calls } of all) {
    for (const part of parts) if ("place" in part) shown.set(keyOf(part.place), resultOf(part));
    for (const { place, answer } of calls) if (place.number === undefined) shown.set(keyOf(place), answer);
  }
  return shown;
}

const keyOf = ({ turn, call }: CallPlace) => `${turn}.${call}`;

/** Not every surface has words for what a program came to that was stopped. */
function resultOf(part: JournalPart): AskedAnswer | undefined {
  return part.type === "program_ended" && !part.isLate ? answerOf(part) : undefined;
}

function answerOf({ text, isError, parts = [] }: Pick<CallResult, "text" | "isError" | "parts">): AskedAnswer {
  return { text: asUntrusted(text), isError, parts };
}

/** What the conversation comes to with the turns that answers up to this one have told, and none that the client has not seen. */
function itemsUntil(replies: Replies, reply: number): readonly Item[] {
  const { header, turns } = replies.state;
  const copied = header.continues?.turns ?? 0;
  const shown = shownCalls(replies);
  return turns.slice(0, turnsUntil(replies, reply)).flatMap(({ said: messages, turn, results }, index): Item[] => [
    ...messages.flatMap(({ by, message }): Item[] => (by === "user" ? [itemSaid(message)] : [])),
    { text: turn.text },
    ...turn.calls.flatMap((call, place): Item[] => {
      const key = keyOf({ turn: index, call: place });
      if (index >= copied && !shown.has(key)) return [];
      const isProgram = call.type === "program_call";
      const kept = index < copied || !isProgram ? results.get(call.id) : undefined;
      const result = shown.get(key) ?? (kept && answerOf(kept));
      if (isProgram) return [{ program: call.source ?? "", result }];
      return [{ tool: call.tool, input: asUntrusted(call.inputText), result }];
    }),
  ]);
}

/** Texts beside each other as one, because clients join and divide them. */
function joined(items: readonly Item[]): readonly Item[] {
  const all: Item[] = [];
  for (const item of items) {
    const last = all.at(-1);
    if (item.text === "") continue;
    if (item.text !== undefined && last?.text !== undefined) all[all.length - 1] = { text: last.text + item.text };
    else all.push(item);
  }
  return all;
}
