import { countOf, fieldOf, type Fields, isFields, listOf, quickKey, textOf } from "../../../base/index.ts";
import { highestUsage, type ModelUsage, NO_USAGE, type TurnEnd } from "../../model.ts";
import type { ProviderReply } from "../../provider/provider-conversation.ts";
import { ErrorReply } from "../../provider/reply-parts.ts";
import { readPlace, ReplyStream } from "../../provider/reply-stream.ts";
import { decisiveReason, endBy } from "../../turn/stop-reason.ts";
import { pieceOf, textField } from "../../turn/written-text.ts";

/** A whole reply: the message as it goes back in the next request. */
export interface ChatReply extends ProviderReply {
  readonly message: Fields;
  readonly finishReason: string | undefined;
}

/** Reads a completion that is not streamed; undefined if it is invalid. */
export function readCompletion(completion: unknown): ChatReply | undefined {
  const choice = firstChoice(completion);
  const message = fieldOf(choice, "message");
  const toolCalls = fieldOf(message, "tool_calls") ?? [];
  const calls = Array.isArray(toolCalls) ? toolCalls.map(withWrittenInput) : undefined;
  if (!isFields(message) || !calls?.every(isCall)) return undefined;
  const read = calls.length === 0 ? message : { ...message, tool_calls: calls };
  return replyOf(
    read,
    textOf(choice, "finish_reason"),
    textOf(completion, "id"),
    usageOf(fieldOf(completion, "usage")),
  );
}

/** A call, or a fragment of one, whose arguments are a text. Some servers send the object itself. */
function withWrittenInput(call: unknown): unknown {
  const part = fieldOf(call, "function");
  const input = fieldOf(part, "arguments");
  if (!isFields(call) || !isFields(part) || !isFields(input)) return call;
  return { ...call, function: { ...part, arguments: JSON.stringify(input) } };
}

const KINDS: ReadonlySet<unknown> = new Set([undefined, "function"]);

/** Whether a call is of a kind that the protocol did not have, like an approval of a server's own tool. */
export function isOfOtherKind(call: unknown): call is Fields {
  return fieldOf(call, "function") === undefined && !KINDS.has(textOf(call, "type"));
}

/** Whether a call can be read. Some servers send no arguments, or no id. */
function isCall(call: unknown): boolean {
  const part = fieldOf(call, "function");
  return isOfOtherKind(call) || (isFields(part) && typeof (part.arguments ?? "") === "string");
}

function replyOf(
  message: Fields,
  finishReason: string | undefined,
  messageId: string | undefined,
  usage: ModelUsage,
): ChatReply {
  // The protocol has no place for summaries of reasoning.
  return { message, finishReason, messageId, text: wordsOf(message), reasoning: "", usage };
}

/** The text of a message, or of a piece of one. Some servers send the content as a list of parts. */
function wordsOf(holder: unknown): string {
  const parts = listOf(holder, "content").filter((part) => textOf(part, "type") === "text");
  return pieceOf(holder, "content") ?? parts.map((part) => textOf(part, "text") ?? "").join("");
}

function usageOf(usage: unknown): ModelUsage {
  const inputTokens = countOf(usage, "prompt_tokens");
  return {
    inputTokens,
    // xAI counts reasoning in the total alone.
    outputTokens: Math.max(countOf(usage, "completion_tokens"), countOf(usage, "total_tokens") - inputTokens),
    // Others have it beside the other counters: DeepSeek, Moonshot, and what translates from Anthropic's protocol.
    cachedInputTokens: Math.max(
      countOf(fieldOf(usage, "prompt_tokens_details"), "cached_tokens"),
      ...["prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens"].map((name) => countOf(usage, name)),
    ),
  };
}

const WORDS: ReadonlySet<string> = new Set(["content", "refusal", "reasoning", "reasoning_content"]);

/** Fields of a fragment that are not joined like a vendor's own fields. */
const CALL_FIELDS = new Set(["index", "id", "type", "function"]);

const NOT_APART = "Two calls of the reply cannot be told apart.";

interface OpenCall {
  readonly index: number | undefined;
  /** Whether another call had the index before. */
  readonly isAtTaken: boolean;
  id: string;
  name: string;
  unshown: string;
  input: string;
  readonly fields: Record<string, unknown>;
}

/**
 * Puts a streamed completion together. Compatible servers leave out different fields. If it is uncertain to which call
 * a fragment belongs, a `SyntaxError` is thrown: a call must never be made with another call's input.
 */
export class ChatStream extends ReplyStream<ChatReply> {
  readonly #calls: OpenCall[] = [];
  readonly #byIndex = new Map<unknown, OpenCall[]>();
  readonly #byId = new Map<unknown, OpenCall[]>();
  readonly #byBoth = new Map<unknown, OpenCall>();
  readonly #message: Record<string, unknown> = { role: "assistant", content: null };
  readonly #joined = listParts();
  #finishReason: string | undefined;
  usage = NO_USAGE;
  #id: string | undefined;

  take(chunk: unknown): void {
    this.#id ??= textOf(chunk, "id");
    const choice = firstChoice(chunk);
    // Moonshot and Groq have places of their own for it.
    const usages = [chunk, choice, fieldOf(chunk, "x_groq")].map((place) => usageOf(fieldOf(place, "usage")));
    this.usage = highestUsage([this.usage, ...usages]);
    this.#finishReason = decisiveReason(this.#finishReason, textOf(choice, "finish_reason"));
    const delta = fieldOf(choice, "delta");
    if (!isFields(delta)) return;
    for (const [name, value] of Object.entries(delta)) {
      if (name === "tool_calls") {
        if (!Array.isArray(value ?? [])) throw new SyntaxError("The calls of the reply are no list.");
        for (const fragment of listOf(delta, name)) this.#takeFragment(fragment);
      } else if (name !== "role") {
        const piece = WORDS.has(name) && typeof value !== "object" ? pieceOf(delta, name) : value;
        extend(this.#message, name, this.#joined(name, piece, this.#message[name]));
      }
    }
    this.display.text(wordsOf(delta));
  }

  get reply(): ChatReply | undefined {
    if (this.#finishReason === undefined) return undefined;
    const calls = this.#calls.length === 0 ? {} : { tool_calls: withTails(this.#calls).map(written) };
    return replyOf({ ...this.#message, ...calls }, this.#finishReason, this.#id, this.usage);
  }

  #takeFragment(value: unknown): void {
    const fragment = withWrittenInput(value);
    if (!isFields(fragment)) throw new SyntaxError("A fragment of a call is no object.");
    const part = fieldOf(fragment, "function");
    const [name, text] = [textOf(part, "name") ?? "", textField(part, "arguments")];
    const own = Object.entries(fragment).filter(([field, value]) => !CALL_FIELDS.has(field) && value !== null);
    const call = this.#callOf(fragment, name);
    if (!call && (text !== "" || own.length > 0))
      throw new SyntaxError("It is unclear to which call a fragment of the reply belongs.");
    if (!call) return;
    // Some servers repeat the name in every fragment, and others send it in pieces before the input.
    if (name !== "" && name !== call.name) {
      if (call.input !== "" && call.name !== "") throw new SyntaxError(NOT_APART);
      call.name += name;
    }
    call.input += text;
    this.#showPiece(call, text);
    call.fields.type ??= textOf(fragment, "type");
    for (const [field, value] of own) extend(call.fields, field, value);
  }

  /** Shown once the name is whole: some servers send it late, or in pieces. */
  #showPiece(call: OpenCall, text: string): void {
    call.unshown += text;
    if (call.name === "" || call.unshown === "") return;
    this.display.beginCall(call, call.name);
    this.display.argument(call, call.unshown);
    call.unshown = "";
  }

  /** The call that a fragment starts, by its name, or continues; undefined if several are possible. */
  #callOf(fragment: Fields, name: string): OpenCall | undefined {
    const index = indexOf(fragment);
    // Some servers repeat the field, empty, in later fragments.
    const id = textOf(fragment, "id") ?? "";
    const [first] = this.#calls;
    if (index !== undefined) this.#checkIndexed(index);
    const calls = this.#callsAt(index, id);
    const [only] = calls;
    const isNamedAgain = id === "" ? index !== undefined : id === only?.id;
    if (only && calls.length === 1 && (name === "" || only.name === "" || isNamedAgain)) return this.#withId(only, id);
    if (name === "") {
      if (calls.length > 0 || this.#byIndex.has(quickKey(index))) return undefined;
      // Some servers count a call anew after its beginning, and repeat its id.
      const [same, ...others] = this.#byId.get(quickKey(id)) ?? [];
      return same && others.length === 0 ? same : this.#begin(index, id);
    }
    const isNew = this.#byIndex.has(quickKey(index))
      ? id !== "" && !this.#byId.has(quickKey(id))
      : index !== undefined || !first;
    if (!isNew) throw new SyntaxError(NOT_APART);
    return this.#begin(index, id);
  }

  /** The calls that a fragment may belong to. A call without an id may get its id later. */
  #callsAt(index: number | undefined, id: string): readonly OpenCall[] {
    if (index === undefined) return id === "" ? this.#calls : (this.#byId.get(quickKey(id)) ?? []);
    const here = this.#byIndex.get(quickKey(index)) ?? [];
    if (id === "") return here;
    if (here.length === 1 && here[0]?.id === "") return here;
    const call = this.#byBoth.get(quickKey(`${index} ${id}`));
    return call ? [call] : [];
  }

  #begin(index: number | undefined, id: string): OpenCall {
    this.#checkIndexed(index);
    const isAtTaken = this.#byIndex.has(quickKey(index));
    const call: OpenCall = {
      index,
      isAtTaken,
      id: "",
      name: "",
      unshown: "",
      input: "",
      fields: {},
    };
    this.#calls.push(call);
    appendTo(this.#byIndex, quickKey(index), call);
    return this.#withId(call, id);
  }

  /** Calls cannot be told apart by an index that only some of them have. */
  #checkIndexed(index: number | undefined): void {
    const [first] = this.#calls;
    if (first && (first.index === undefined) !== (index === undefined))
      throw new SyntaxError("Some calls of the reply have an index, and others have none.");
  }

  #withId(call: OpenCall, id: string): OpenCall {
    if (call.id !== "" || id === "") return call;
    call.id = id;
    appendTo(this.#byId, quickKey(id), call);
    this.#byBoth.set(quickKey(`${call.index} ${id}`), call);
    return call;
  }
}

/**
 * Calls with their inputs. A server may begin a call at the index of the one before, and send its input at an index of its
 * own: such an input is that of the call which is as many-th as its index says, began at a taken one, and has no input.
 */
function withTails(calls: readonly OpenCall[]): readonly OpenCall[] {
  const isTail = ({ name, input, fields }: OpenCall) => name === "" && (input !== "" || !isOfOtherKind(fields));
  const named = calls.filter((call) => !isTail(call));
  const inputs = new Map<OpenCall, string>();
  for (const tail of calls.filter(isTail)) {
    const head = tail.index === undefined ? undefined : named[tail.index];
    if (!head?.isAtTaken || head.input !== "" || tail.id !== "")
      throw new SyntaxError("A call of the reply has no name.");
    inputs.set(head, tail.input);
  }
  return named.map((call) => ({ ...call, input: inputs.get(call) ?? call.input }));
}

function written({ id, name, fields, input }: OpenCall): Fields {
  if (name === "") return { id, ...fields };
  return {
    ...(id !== "" && { id }),
    ...fields,
    type: fields.type ?? "function",
    function: { name, arguments: input },
  };
}

function indexOf(fragment: Fields): number | undefined {
  const written = fieldOf(fragment, "index") ?? undefined;
  const index = readPlace(written);
  if (written !== undefined && index === undefined) throw new SyntaxError("The index of a call is no place.");
  return index;
}

/** The first choice, which may have failed. Other choices belong to other replies. */
function firstChoice(completion: unknown): unknown {
  const first = listOf(completion, "choices").find((choice) => (fieldOf(choice, "index") ?? 0) === 0);
  const error = fieldOf(first, "error");
  if (isFields(error)) throw new ErrorReply(error);
  return first;
}

function appendTo<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

/** Fields of a part that come in pieces. A signature, like all else, comes whole. */
const PIECES: ReadonlySet<string> = new Set(["text", "summary", "data"]);

/** Joins the lists of a vendor's own fields, like `reasoning_details`: parts of one type, index and id are one part. */
function listParts() {
  const lists = new Map<string, Record<string, unknown>[]>();
  const open = new Map<string, Record<string, unknown>>();
  /** The list so far, grown in place; any other value as it is. Mistral sends texts and lists in turn: each text is a part too. */
  return (name: string, value: unknown, written: unknown): unknown => {
    const begun = lists.get(name);
    if (begun && value === "") return begun;
    const fragments = begun && typeof value === "string" ? [{ type: "text", text: value }] : value;
    if (!Array.isArray(fragments) || !fragments.every(isFields)) return value;
    const list = begun ?? (typeof written === "string" && written !== "" ? [{ type: "text", text: written }] : []);
    lists.set(name, list);
    for (const fragment of fragments) {
      const { index, type, id } = fragment;
      const place = JSON.stringify([name, index, type]);
      const last = list.at(-1);
      const isProse = index === undefined && (type === "text" || type === "thinking");
      const before = isProse && last?.type === type ? last : index === undefined ? undefined : open.get(place);
      const isSame = before && (before.id ?? id ?? null) === (id ?? before.id ?? null);
      const part = isSame ? before : {};
      if (!isSame) list.push(part);
      open.set(place, part);
      for (const [field, one] of Object.entries(fragment)) {
        const grown = part[field];
        if (isProse && Array.isArray(grown) && Array.isArray(one)) for (const piece of one) grown.push(piece);
        else {
          if (!PIECES.has(field) && one !== null) delete part[field];
          extend(part, field, one);
        }
      }
    }
    return list;
  };
}

function extend(target: Record<string, unknown>, name: string, value: unknown): void {
  if (value === null || value === undefined || name === "__proto__") return;
  const before = Object.hasOwn(target, name) ? target[name] : undefined;
  target[name] = typeof value === "string" && typeof before === "string" ? before + value : value;
}

/** How the turn ends; undefined if the reply has no finish reason. */
export function endOf(message: Fields, finishReason: string | undefined): TurnEnd | undefined {
  if (finishReason === undefined) return undefined;
  const end = endBy(finishReason, `The provider's filter stopped the reply (${finishReason}).`);
  const refusal = textOf(message, "refusal");
  return end.type === "answered" && refusal ? { type: "refused", reason: refusal } : end;
}
