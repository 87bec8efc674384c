import { isDeepStrictEqual } from "node:util";
import { settingsOf } from "../../agent/conversation-settings.ts";
import { messageText } from "../../agent/prompt/said-message.ts";
import { parsedJson } from "../../values/json/json-text.ts";
import { recordedTool } from "../../tools/tool-digest.ts";
import type { Asked } from "../../models/surface/surface.ts";
import type { ClientTools } from "./client-tools.ts";
import { type Replies, turnsUntil } from "./from-journal/replies.ts";
import { settingsFor } from "./say-options.ts";

/*
 * Whether a request goes on with a conversation that the journal has: its client repeats the whole history, and may have
 * changed it.
 */

/** What the messages of a request, or the turns of a conversation, come to for the client. */
type Item = readonly [kind: string, ...words: unknown[]];

/** Whether the client asks with the same tools, instructions and settings. */
export function isSameOpening(asked: Asked, tools: ClientTools, { state }: Pick<Replies, "state">): boolean {
  const { instructions } = state.answering;
  const own = asked.instructions === undefined ? undefined : `# Instructions\n\n${asked.instructions.trim()}`;
  if (asked.settings.answer === undefined && own !== instructions) return false;
  if (!isDeepStrictEqual(tools.all.map(recordedTool), [...state.tools])) return false;
  return isDeepStrictEqual(settingsOf(state.header).settings ?? {}, { ...settingsFor(asked, tools) });
}

/** Whether the client asks the same after the history that ends with an answer of this number. */
export function isSameConversation(asked: Asked, tools: ClientTools, replies: Replies, reply: number): boolean {
  if (!isSameOpening(asked, tools, replies)) return false;
  return isDeepStrictEqual(joined(itemsAsked(asked, tools)), joined(itemsUntil(replies, reply)));
}

function itemsAsked({ turns }: Asked, tools: ClientTools): readonly Item[] {
  return turns.flatMap(({ said, text, calls }): Item[] => [
    ...said.map((message): Item => ["said", messageText(message)]),
    ["text", text],
    ...calls.map((call): Item =>
      call.type === "program_call"
        ? ["program", call.source]
        : ["call", tools.own(call.tool), parsedJson(call.inputText)],
    ),
  ]);
}

/** The calls that the client has seen, by turn and place. */
function shownCalls({ all }: Replies): ReadonlySet<string> {
  const places = all.flatMap(({ parts }) => parts.flatMap((part) => ("place" in part ? [part.place] : [])));
  return new Set(places.map(({ turn, call }) => `${turn}.${call}`));
}

/** What the conversation comes to with the turns that answers up to this one have told, and none that the client has not seen. */
function itemsUntil(replies: Replies, reply: number): readonly Item[] {
  const { header, turns } = replies.state;
  const copied = header.continues?.turns ?? 0;
  const shown = shownCalls(replies);
  return turns.slice(0, turnsUntil(replies, reply)).flatMap(({ said, turn }, index): Item[] => [
    ...said.flatMap(({ by, message }): Item[] => (by === "user" ? [["said", messageText(message)]] : [])),
    ["text", turn.text],
    ...turn.calls.flatMap((call, place): Item[] => {
      if (index >= copied && !shown.has(`${index}.${place}`)) return [];
      if (call.type === "program_call") return [["program", call.source]];
      return [["call", call.tool, parsedJson(call.inputText)]];
    }),
  ]);
}

/** Texts beside each other as one, because clients join and divide them. */
function joined(items: readonly Item[]): readonly Item[] {
  const all: Item[] = [];
  for (const item of items) {
    const last = all.at(-1);
    if (item[0] === "text" && item[1] === "") continue;
    if (item[0] === "text" && last?.[0] === "text")
      all[all.length - 1] = ["text", `${String(last[1])}${String(item[1])}`];
    else all.push(item);
  }
  return all;
}
