import type { Fields } from "../../base/index.ts";

/*
 * What Anthropic is asked to keep of a request, so that the next one reads it again for a tenth of its price. A mark ends
 * what is kept: everything before it, the marked block included. Anthropic takes four marks in a request.
 */

/** Messages of the user that are marked: the last of this request, and the last of the request before, which was kept. */
const MARKED_MESSAGES = 2;

export interface AnthropicMessage {
  readonly role: "user" | "assistant";
  readonly content: readonly Fields[];
}

/** The mark of the option `cache`; undefined if nothing is to be kept. Five minutes need no word. */
export function cacheMark(cache: unknown): Fields | undefined {
  if (cache === "off") return undefined;
  return cache === "1h" ? { type: "ephemeral", ttl: "1h" } : { type: "ephemeral" };
}

/** The tools with a mark on the last that is loaded at once: Anthropic takes none on a tool that a search loads. */
export function markedTools(tools: readonly Fields[], mark: Fields | undefined): readonly Fields[] {
  const last = tools.findLastIndex((tool) => tool.defer_loading !== true);
  return mark && last >= 0 ? tools.with(last, marked(tools[last] as Fields, mark)) : tools;
}

/** An empty text takes no mark. */
export function markedSystem(text: string, mark: Fields | undefined): unknown {
  return mark && text !== "" ? [marked({ type: "text", text }, mark)] : text;
}

/** The messages with marks on the last of the user. The model's messages go back as they came. */
export function markedMessages(
  messages: readonly AnthropicMessage[],
  mark: Fields | undefined,
): readonly AnthropicMessage[] {
  if (!mark) return messages;
  const places = messages.flatMap(({ role, content }, place) => (role === "user" && content.length > 0 ? place : []));
  const last = new Set(places.slice(-MARKED_MESSAGES));
  return messages.map((message, place) => {
    if (!last.has(place)) return message;
    const end = message.content.length - 1;
    return { ...message, content: message.content.with(end, marked(message.content[end] as Fields, mark)) };
  });
}

function marked(block: Fields, mark: Fields): Fields {
  return { ...block, cache_control: mark };
}
