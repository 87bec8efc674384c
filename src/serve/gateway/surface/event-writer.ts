import type { Fields, SlicedWork } from "../../../base/index.ts";
import {
  isSpoken,
  type Refusal,
  type ReplyEnd,
  type ReplyFacts,
  type ReplyPart,
  type ReplyWriter,
  type SpokenPart,
  type WholePart,
} from "./surface.ts";

/** Writes an answer in a provider's events: parts in their order, of which that which is spoken may come in pieces. */
export abstract class EventWriter implements ReplyWriter {
  readonly #partOf: (key: string) => SpokenPart;
  /** What is being sent, with its words so far. */
  #open: { readonly part: SpokenPart; text: string } | undefined;

  /** `partOf` is the part of a key without its words. */
  constructor(partOf: (key: string) => SpokenPart) {
    this.#partOf = partOf;
  }

  abstract begin(): string;
  abstract end(end: ReplyEnd, facts: ReplyFacts): string | SlicedWork<string>;
  abstract fail(refusal: Refusal, requestId: string): string;
  protected abstract beginSpoken(part: SpokenPart): string;
  protected abstract delta(part: SpokenPart, text: string): string;
  protected abstract endSpoken(part: SpokenPart, text: string): string;
  protected abstract whole(part: WholePart): string;

  piece(text: string, key: string): string {
    if (text === "") return "";
    let before = "";
    if (this.#open?.part.key !== key) {
      before = this.close();
      this.#open = { part: this.#partOf(key), text: "" };
      before += this.beginSpoken(this.#open.part);
    }
    this.#open.text += text;
    return before + this.delta(this.#open.part, text);
  }

  part(part: ReplyPart, rest?: string): string {
    if (!isSpoken(part)) return this.close() + this.whole(part);
    const piece = this.piece(rest ?? part.text, part.key);
    return piece + this.close();
  }

  protected close(): string {
    const open = this.#open;
    this.#open = undefined;
    return open ? this.endSpoken(open.part, open.text) : "";
  }
}

export function eventText(type: string, data: string | Fields): string {
  return `event: ${type}\ndata: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}
