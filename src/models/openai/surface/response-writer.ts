import type { Fields } from "../../../values/fields.ts";
import type { Refusal, ReplyEnd, ReplyFacts, ReplyPart, ReplyWriter } from "../../surface/surface.ts";
import { errorOf } from "./write-error.ts";
import { endOf, headOf, itemOf, refusalItem, usageOf } from "./write-response.ts";

type Head = Pick<ReplyFacts, "id" | "model" | "at" | "echo">;

/** Writes a response in events: the other end of `ResponsesStream` in `../responses/reply.ts`. */
export class ResponseWriter implements ReplyWriter {
  readonly #head: Head;
  readonly #textId: (key: string) => string;
  readonly #output: Fields[] = [];
  #number = 0;
  #open: { readonly item: Fields; text: string } | undefined;

  /** `textId` is the id of a text by its key. */
  constructor(head: Head, textId: (key: string) => string) {
    this.#head = head;
    this.#textId = textId;
  }

  begin(): string {
    const response = { ...headOf(this.#head), status: "in_progress", output: [], usage: null };
    return this.#event("response.created", { response }) + this.#event("response.in_progress", { response });
  }

  piece(text: string, key: string): string {
    if (text === "") return "";
    const before = this.#open ? "" : this.#beginText(key);
    return before + this.#delta(text);
  }

  part(part: ReplyPart, rest?: string): string {
    if (part.type === "text") {
      const piece = this.piece(rest ?? part.text, part.key);
      return piece + this.#endText();
    }
    const before = this.#endText();
    const item = itemOf(part);
    const about = { item_id: item.id, output_index: this.#output.length };
    const added = this.#event("response.output_item.added", {
      output_index: about.output_index,
      item: part.type === "call" ? { ...item, arguments: "", status: "in_progress" } : item,
    });
    const written =
      part.type === "call"
        ? this.#event("response.function_call_arguments.delta", { ...about, delta: part.inputText }) +
          this.#event("response.function_call_arguments.done", { ...about, name: part.tool, arguments: part.inputText })
        : "";
    return before + added + written + this.#done(item);
  }

  end(end: ReplyEnd, facts: ReplyFacts): string {
    const before = this.#endText();
    const refusal = end.type === "refused" ? this.#refusal(refusalItem(end.reason, facts.id)) : "";
    const response = {
      ...headOf({ ...facts, at: this.#head.at }),
      ...endOf(end),
      output: this.#output,
      usage: usageOf(facts),
    };
    const type = end.type === "cut_off" ? "response.incomplete" : "response.completed";
    return before + refusal + this.#event(type, { response });
  }

  fail(refusal: Refusal): string {
    const { code, message } = errorOf(refusal);
    const error = { code: refusal.kind === "rate_limited" ? "rate_limit_exceeded" : (code ?? "server_error"), message };
    const response = { ...headOf(this.#head), status: "failed", error, output: this.#output, usage: null };
    return this.#event("response.failed", { response });
  }

  #beginText(key: string): string {
    const item = { type: "message", id: this.#textId(key), role: "assistant", status: "in_progress", content: [] };
    this.#open = { item, text: "" };
    const output_index = this.#output.length;
    const part = { type: "output_text", text: "", annotations: [], logprobs: [] };
    return (
      this.#event("response.output_item.added", { output_index, item }) +
      this.#event("response.content_part.added", { item_id: item.id, output_index, content_index: 0, part })
    );
  }

  #delta(delta: string): string {
    if (this.#open) this.#open.text += delta;
    return this.#event("response.output_text.delta", { ...this.#place(), delta, logprobs: [] });
  }

  #endText(): string {
    if (!this.#open) return "";
    const { item, text } = this.#open;
    const place = this.#place();
    const part = { type: "output_text", text, annotations: [], logprobs: [] };
    this.#open = undefined;
    return (
      this.#event("response.output_text.done", { ...place, text, logprobs: [] }) +
      this.#event("response.content_part.done", { ...place, part }) +
      this.#done({ ...item, status: "completed", content: [part] })
    );
  }

  #refusal(item: Fields): string {
    return this.#event("response.output_item.added", { output_index: this.#output.length, item }) + this.#done(item);
  }

  #place(): Fields {
    return { item_id: this.#open?.item.id, output_index: this.#output.length, content_index: 0 };
  }

  #done(item: Fields): string {
    const done = this.#event("response.output_item.done", { output_index: this.#output.length, item });
    this.#output.push(item);
    return done;
  }

  #event(type: string, fields: Fields): string {
    const event = { type, sequence_number: this.#number, ...fields };
    this.#number += 1;
    return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
  }
}
