import { countOf, fieldOf, type Fields, isFields, listOf, textOf } from "./fields.ts";
import type { ModelUsage } from "./model.ts";

/** A whole reply: the message as it goes back in the next request. */
export interface ChatReply {
  readonly message: Fields;
  readonly finishReason: string | undefined;
  readonly usage: ModelUsage;
}

/** Reads a completion that came in one piece; undefined where it is none. */
export function readCompletion(completion: unknown): ChatReply | undefined {
  const [choice] = listOf(completion, "choices");
  const message = fieldOf(choice, "message");
  if (!isFields(message)) return undefined;
  return { message, finishReason: textOf(choice, "finish_reason"), usage: usageOf(fieldOf(completion, "usage")) };
}

/** Fields of a fragment that are put together in a way of their own. */
const CALL_FIELDS = new Set(["index", "id", "type", "function"]);

/** Puts a streamed completion together. Servers that speak this protocol differ: what they leave out is done without. */
export class ChatStream {
  readonly #calls: Record<string, unknown>[] = [];
  readonly #byIndex = new Map<number, Record<string, unknown>>();
  readonly #message: Record<string, unknown> = { role: "assistant", content: null };
  readonly #onText: (text: string) => void;
  #finishReason: string | undefined;
  #usage: unknown;

  constructor(onText: (text: string) => void) {
    this.#onText = onText;
  }

  take(chunk: unknown): void {
    if (isFields(fieldOf(chunk, "usage"))) this.#usage = fieldOf(chunk, "usage");
    const [choice] = listOf(chunk, "choices");
    this.#finishReason = textOf(choice, "finish_reason") ?? this.#finishReason;
    const delta = fieldOf(choice, "delta");
    if (!isFields(delta)) return;
    for (const [name, value] of Object.entries(delta)) {
      if (name === "tool_calls") for (const fragment of listOf(delta, "tool_calls")) this.#takeFragment(fragment);
      else if (name !== "role") extend(this.#message, name, value);
    }
    this.#onText(textOf(delta, "content") ?? "");
  }

  get reply(): ChatReply | undefined {
    if (this.#finishReason === undefined) return undefined;
    const calls = this.#calls.length === 0 ? {} : { tool_calls: this.#calls };
    return { message: { ...this.#message, ...calls }, finishReason: this.#finishReason, usage: usageOf(this.#usage) };
  }

  #takeFragment(fragment: unknown): void {
    if (!isFields(fragment)) return;
    const call = this.#callOf(fragment);
    const id = textOf(fragment, "id");
    // Some servers repeat the field, empty, in later fragments.
    if (id !== undefined && id !== "" && call.id === undefined) call.id = id;
    call.type ??= textOf(fragment, "type") ?? "function";
    const { name, arguments: text } = call.function as { readonly name: string; readonly arguments: string };
    const part = fieldOf(fragment, "function");
    call.function = { name: name || (textOf(part, "name") ?? ""), arguments: text + (textOf(part, "arguments") ?? "") };
    for (const [field, value] of Object.entries(fragment)) if (!CALL_FIELDS.has(field)) extend(call, field, value);
  }

  /** The call that a fragment belongs to: by its index, or where a server gives none, the one before until an id begins another. */
  #callOf(fragment: Fields): Record<string, unknown> {
    const index = typeof fragment.index === "number" ? fragment.index : undefined;
    const known =
      index === undefined ? (textOf(fragment, "id") ? undefined : this.#calls.at(-1)) : this.#byIndex.get(index);
    if (known) return known;
    const call = { function: { name: "", arguments: "" } };
    this.#calls.push(call);
    if (index !== undefined) this.#byIndex.set(index, call);
    return call;
  }
}

/** Texts grow; of everything else the latest counts. */
function extend(target: Record<string, unknown>, name: string, value: unknown): void {
  if (value === null || value === undefined || name === "__proto__") return;
  const before = Object.hasOwn(target, name) ? target[name] : undefined;
  target[name] = typeof value === "string" && typeof before === "string" ? before + value : value;
}

function usageOf(usage: unknown): ModelUsage {
  return {
    inputTokens: countOf(usage, "prompt_tokens"),
    outputTokens: countOf(usage, "completion_tokens"),
    cachedInputTokens: countOf(fieldOf(usage, "prompt_tokens_details"), "cached_tokens"),
  };
}
