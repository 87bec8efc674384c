import { isDeepStrictEqual } from "node:util";
import { countOf, fieldOf, type Fields, isFields, listOf, textOf } from "../../../base/index.ts";
import { highestUsage, type ModelUsage, NO_USAGE, type ToolCall, type TurnEnd } from "../../model.ts";
import type { ProviderReply } from "../../provider/provider-conversation.ts";
import { fieldsOfParts, partsOfItems, placeIn, ReplyStream } from "../../provider/reply-stream.ts";
import { endSaidBy } from "../../turn/stop-reason.ts";
import { isRead } from "./hosted-items.ts";

/** A whole response, as its items go back in the next request. */
export interface ResponsesReply extends ProviderReply {
  readonly items: readonly Fields[];
  readonly status: string | undefined;
  readonly incompleteReason: string | undefined;
  readonly error: unknown;
}

/** Reads a response that is not streamed; undefined if it is invalid. */
export function readResponse(response: unknown, output = fieldOf(response, "output")): ResponsesReply | undefined {
  if (!Array.isArray(output) || !output.every(isFields)) return undefined;
  const items = output.map(withTexts);
  return {
    messageId: textOf(response, "id"),
    items,
    text: textsOf(partsOfItems(items, "message", "content")).join(""),
    reasoning: textsOf(partsOfItems(items, "reasoning", "summary")).join(GAP),
    status: textOf(response, "status"),
    incompleteReason: textOf(fieldOf(response, "incomplete_details"), "reason"),
    error: fieldOf(response, "error"),
    usage: usageOf(fieldOf(response, "usage")),
  };
}

/** An item as its protocol has it: some servers send the object that the arguments are, or the text that the content is. */
function withTexts(item: Fields): Fields {
  const { type, arguments: input, content } = item;
  if (type === "function_call" && isFields(input)) return { ...item, arguments: JSON.stringify(input) };
  if (type !== "message" || typeof content !== "string") return item;
  return { ...item, content: [{ type: "output_text", text: content, annotations: [] }] };
}

function usageOf(usage: unknown): ModelUsage {
  return {
    inputTokens: countOf(usage, "input_tokens"),
    outputTokens: countOf(usage, "output_tokens"),
    cachedInputTokens: countOf(fieldOf(usage, "input_tokens_details"), "cached_tokens"),
  };
}

const LAST_EVENT = /^response\.(completed|incomplete|failed)$/;
const INPUT_EVENT = /^response\.(?:function_call_arguments|custom_tool_call_input)\.(delta|done)$/;

/** Puts a streamed response together from the items that are done: an item may have less when it is added. */
export class ResponsesStream extends ReplyStream<ResponsesReply> {
  #shared: number | undefined;
  #last: unknown;
  usage = NO_USAGE;

  take(event: unknown): void {
    const type = textOf(event, "type") ?? "";
    this.usage = highestUsage([this.usage, usageOf(fieldOf(fieldOf(event, "response"), "usage"))]);
    const delta = textOf(event, "delta") ?? "";
    if (type === "response.output_item.added") this.#add(placeIn(event, PLACE), fieldOf(event, "item"));
    else if (type === "response.output_item.done") this.#complete(placeIn(event, PLACE), fieldOf(event, "item"));
    else if (type === "response.output_text.delta") this.display.text(delta);
    else if (type === "response.reasoning_summary_text.delta") this.display.reasoning(delta);
    else if (type === "response.reasoning_summary_part.added")
      this.display.reasoning(countOf(event, "summary_index") === 0 ? "" : GAP);
    else this.#takeRare(event, type, delta);
  }

  /** The events of calls, and the last one. */
  #takeRare(event: unknown, type: string, delta: string): void {
    const [, input] = INPUT_EVENT.exec(type) ?? [];
    const [, status] = LAST_EVENT.exec(type) ?? [];
    if (input === "delta") this.#extendInput(event, delta);
    else if (input === "done") this.#takeInput(event, textOf(event, "arguments") ?? textOf(event, "input") ?? "");
    else if (status !== undefined) this.#end(fieldOf(event, "response"), status);
  }

  #add(place: number, item: unknown): void {
    if (!this.at(place)) this.begin(place, item ?? {});
    const type = textOf(item, "type") ?? "";
    if (INPUT_FIELDS.has(type)) this.display.beginCall(place, calledName(item), type === "custom_tool_call");
  }

  #complete(place: number, item: unknown): void {
    if (!this.complete(place, withInput(item, this.at(place)?.input))) this.#shared = place;
    // A program comes in one piece, once it is done.
    const code = textOf(item, "type") === "program" ? textOf(item, "code") : undefined;
    if (code !== undefined) this.display.program(place, code);
  }

  /** Some servers do not say to which item a piece belongs, and repeat its input when it is done. */
  #extendInput(event: unknown, piece: string): void {
    if ((fieldOf(event, PLACE) ?? undefined) === undefined) return;
    const place = placeIn(event, PLACE);
    this.addInput(place, this.at(place) ?? this.begin(place, {}), piece);
  }

  /** The whole input. Some servers send no pieces of it, and then an item without any. */
  #takeInput(event: unknown, input: string): void {
    const place = fieldOf(event, PLACE) ?? undefined;
    const part = place === undefined ? undefined : this.at(placeIn(event, PLACE));
    if (part && !part.isOver && part.input === undefined && input !== "") this.addInput(place, part, input);
  }

  /** A response that was not completed stays so, whatever later events say. */
  #end(response: unknown, status: string): void {
    const ownStatus = textOf(response, "status");
    if (ownStatus === "completed" && ownStatus !== status)
      throw new SyntaxError("The reply says that it was completed, and that it was not.");
    if (this.#last !== undefined && !isDeepStrictEqual(listOf(this.#last, "output"), listOf(response, "output")))
      throw new SyntaxError("The reply ends twice, with other items.");
    if (this.#last === undefined || textOf(this.#last, "status") === "completed")
      this.#last = { ...(isFields(response) && response), status: ownStatus ?? status };
  }

  get reply(): ResponsesReply | undefined {
    if (this.#last === undefined) return undefined;
    const { parts } = this;
    const done = parts.filter(({ isOver }) => isOver);
    // Some servers send items with the last event only, all or a few, or give several one place.
    const listed = textOf(this.#last, "status") === "completed" ? listOf(this.#last, "output").length : 0;
    if (listed > done.length || parts.length === 0) return readResponse(this.#last);
    if (this.#shared !== undefined) throw new SyntaxError(`Two items of the reply have the place ${this.#shared}.`);
    // In an incomplete response, the item that is not done is the item that was cut off.
    const isCutOff = done.length < parts.length && fieldOf(this.#last, "status") === "completed";
    return isCutOff ? undefined : readResponse(this.#last, fieldsOfParts(done));
  }
}

const PLACE = "output_index";

/** An item that is done, with the input that came before it if its own says nothing: the call would be made without any. */
function withInput(item: unknown, input = ""): unknown {
  const field = INPUT_FIELDS.get(textOf(item, "type") ?? "");
  if (!isFields(item) || field === undefined || input === "") return item;
  const own = item[field] ?? "";
  const saysNothing = own === "" || (field === "arguments" && own === "{}");
  return saysNothing ? { ...item, [field]: input } : item;
}

const INPUT_FIELDS: ReadonlyMap<string, string> = new Map([
  ["function_call", "arguments"],
  ["custom_tool_call", "input"],
]);

const GAP = "\n\n";

/** Statuses of a provider's own call that is not complete. */
const UNFINISHED = new Set<unknown>(["incomplete", "in_progress"]);
/** Statuses of a call of our tools that may be made. Some servers give none. */
const FINISHED = new Set<unknown>(["completed", null, undefined]);

/** Of a call that nobody here reads, the status says nothing about the turn. */
function isUnfinished(item: Fields): boolean {
  const { status } = item;
  const type = textOf(item, "type") ?? "";
  if (type === "function_call" || type === "custom_tool_call") return !FINISHED.has(status);
  return isRead(item) && type.endsWith("_call") && UNFINISHED.has(status);
}

/** How the turn ends; undefined if the response has no final status. */
export function endOf({ status, incompleteReason, items }: ResponsesReply): TurnEnd | undefined {
  if (status === "incomplete" || (status === "completed" && incompleteReason !== undefined))
    return incompleteReason === "content_filter"
      ? { type: "refused", reason: "OpenAI's filter stopped the reply." }
      : { type: "cut_off", reason: (incompleteReason ?? "incomplete").slice(0, 100) };
  if (status !== undefined && endSaidBy(status) !== "whole") return undefined;
  const refusals = partsOfItems(items, "message", "content").map((part) => textOf(part, "refusal"));
  const refusal = refusals.find((words) => words !== undefined);
  if (refusal !== undefined) return { type: "refused", reason: refusal };
  if (items.some(isUnfinished)) return { type: "cut_off", reason: "a call is not completed" };
  // Without a message after the hosted programs, the model has not finished.
  const last = items.findLast(({ type }) => type === "message" || type === "program" || type === "program_output");
  const isEmpty = items.every(({ type }) => type === "reasoning");
  return { type: isEmpty || last?.type === "message" ? "answered" : "unfinished" };
}

/** The name in a call, with that of its namespace before it: `billing.refund`. */
export function calledName(item: unknown): string {
  return [textOf(item, "namespace") ?? [], textOf(item, "name") ?? ""].flat().join(".");
}

export function callerOf(caller: unknown): ToolCall["caller"] {
  if (caller === undefined || caller === null) return "direct";
  const type = fieldOf(caller, "type");
  if (type === "direct") return "direct";
  return type === "program" ? "programmatic" : "unknown";
}

const textsOf = (parts: readonly unknown[]) => parts.map((part) => textOf(part, "text") ?? "");
