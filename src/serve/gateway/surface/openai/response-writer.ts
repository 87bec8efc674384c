import { type Fields, jsonInParts, type SlicedWork, textOf } from "../../../../base/index.ts";
import type { Refusal, ReplyEnd, ReplyFacts, ReplyPart, ReplyWriter, SpokenPart } from "../surface.ts";
import { endOf, errorOf, headOf, itemOf, refusalItem, usageOf } from "./write-response.ts";

type Head = Pick<ReplyFacts, "id" | "model" | "at" | "echo">;

/** Writes a response in events: the other end of `ResponsesStream` in `../../../../models/openai/responses/reply.ts`. */
export class ResponseWriter implements ReplyWriter {
  readonly #head: Head;
  readonly #partOf: (key: string) => SpokenPart;
  readonly #output: Fields[] = [];
  #number = 0;
  /** The text or the summary that is being sent, with its words so far. */
  #open: { readonly part: SpokenPart; text: string } | undefined;

  /** `partOf` is the part of a key without its words. */
  constructor(head: Head, partOf: (key: string) => SpokenPart) {
    this.#head = head;
    this.#partOf = partOf;
  }

  begin(): string {
    const response = { ...headOf(this.#head), status: "in_progress", output: [], usage: null };
    return this.#event("response.created", { response }) + this.#event("response.in_progress", { response });
  }

  piece(text: string, key: string): string {
    if (text === "") return "";
    const before = this.#open?.part.key === key ? "" : this.#begin(this.#partOf(key));
    return before + this.#delta(text);
  }

  part(part: ReplyPart, rest?: string): string {
    if (part.type === "text" || part.type === "reasoning") {
      const piece = this.piece(rest ?? part.text, part.key);
      return piece + this.#endSpoken();
    }
    const before = this.#endSpoken();
    const item = itemOf(part);
    const about = { item_id: item.id, output_index: this.#output.length };
    if (part.type !== "call") return before + this.#added(item) + this.#done(item);
    const text = textOf(item, "input");
    const empty = text === undefined ? { arguments: "" } : { input: "" };
    const added = this.#added({ ...item, ...empty, status: "in_progress" });
    const events = text === undefined ? "response.function_call_arguments" : "response.custom_tool_call_input";
    const whole = text === undefined ? { name: part.tool, arguments: part.inputText } : { input: text };
    const written =
      this.#event(`${events}.delta`, { ...about, delta: text ?? part.inputText }) +
      this.#event(`${events}.done`, { ...about, ...whole });
    return before + added + written + this.#done(item);
  }

  *end(end: ReplyEnd, facts: ReplyFacts): SlicedWork<string> {
    const before = this.#endSpoken();
    const refusal = refusalItem(end.type === "refused" ? end.reason : "", facts.id);
    const refused = end.type === "refused" ? this.#added(refusal) + this.#done(refusal) : "";
    const response = {
      ...headOf({ ...facts, at: this.#head.at }),
      ...endOf(end),
      output: this.#output,
      usage: usageOf(facts),
    };
    const type = end.type === "cut_off" ? "response.incomplete" : "response.completed";
    return before + refused + framed(type, yield* jsonInParts(this.#numbered(type, { response })));
  }

  fail(refusal: Refusal): string {
    const { code, message } = errorOf(refusal);
    const error = { code: refusal.kind === "rate_limited" ? "rate_limit_exceeded" : (code ?? "server_error"), message };
    // What came before was sent.
    const response = { ...headOf(this.#head), status: "failed", error, output: [], usage: null };
    return this.#event("response.failed", { response });
  }

  #begin(part: SpokenPart): string {
    const before = this.#endSpoken();
    this.#open = { part, text: "" };
    const { added } = SPOKEN[part.type];
    const empty = part.type === "text" ? { status: "in_progress", content: [] } : { summary: [] };
    const item = { ...itemOf(part), ...empty };
    return before + this.#added(item) + this.#event(`${added}.added`, { ...this.#place(), part: spokenPart(part, "") });
  }

  #delta(delta: string): string {
    if (!this.#open) return "";
    this.#open.text += delta;
    const { words, more } = SPOKEN[this.#open.part.type];
    return this.#event(`${words}.delta`, { ...this.#place(), delta, ...more });
  }

  #endSpoken(): string {
    if (!this.#open) return "";
    const { part, text } = this.#open;
    const place = this.#place();
    this.#open = undefined;
    const { added, words, more } = SPOKEN[part.type];
    return (
      this.#event(`${words}.done`, { ...place, text, ...more }) +
      this.#event(`${added}.done`, { ...place, part: spokenPart(part, text) }) +
      this.#done(itemOf({ ...part, text }))
    );
  }

  #added(item: Fields): string {
    return this.#event("response.output_item.added", { output_index: this.#output.length, item });
  }

  #place(): Fields {
    const part = this.#open?.part;
    const within = part?.type === "reasoning" ? { summary_index: 0 } : { content_index: 0 };
    return { item_id: part?.id, output_index: this.#output.length, ...within };
  }

  #done(item: Fields): string {
    const done = this.#event("response.output_item.done", { output_index: this.#output.length, item });
    this.#output.push(item);
    return done;
  }

  #event(type: string, fields: Fields): string {
    return framed(type, JSON.stringify(this.#numbered(type, fields)));
  }

  #numbered(type: string, fields: Fields): Fields {
    return { type, sequence_number: this.#number++, ...fields };
  }
}

function framed(type: string, data: string): string {
  return `event: ${type}\ndata: ${data}\n\n`;
}

/** The events of what is sent while it is written. */
const SPOKEN = {
  text: { added: "response.content_part", words: "response.output_text", more: { logprobs: [] } },
  reasoning: { added: "response.reasoning_summary_part", words: "response.reasoning_summary_text", more: {} },
} as const;

function spokenPart({ type }: SpokenPart, text: string): Fields {
  return type === "text"
    ? { type: "output_text", text, annotations: [], logprobs: [] }
    : { type: "summary_text", text };
}
