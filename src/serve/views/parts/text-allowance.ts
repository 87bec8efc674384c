import type { TextHead } from "../view.ts";

/** Who reads a view, and the bounds of its texts in UTF-16 code units. */
export interface TextBounds {
  /** Length of one text. */
  readonly each: number;
  /** Length of all texts together. */
  readonly all: number;
  /** Id of the only call whose texts are held; all by default. */
  readonly only?: string;
  /** The view is for a client, who is not told what is for the operator. */
  readonly forClient?: true;
}

/** Length of what was said in a conversation, in UTF-16 code units. */
const SAID_LENGTH = 16 * 1024;

/** Cuts texts to what a view may hold of them. */
export class TextAllowance {
  readonly #bounds: TextBounds;
  #left: number;

  constructor(bounds: TextBounds) {
    this.#bounds = bounds;
    this.#left = bounds.all;
  }

  isMeant(id: string): boolean {
    return this.#bounds.only === id;
  }

  /** Like `head`, for what was said in a conversation: people read it whole. */
  said(text: string): TextHead {
    return this.head(text, Math.max(this.#bounds.each, SAID_LENGTH));
  }

  headOfCall(id: string, text: string): TextHead {
    return this.#bounds.only === undefined || this.isMeant(id) ? this.head(text) : headOf(text, 0);
  }

  /** The beginning of a text, within the bound of one text and what is left for all. */
  head(text: string, each = this.#bounds.each): TextHead {
    const head = headOf(text, Math.min(each, this.#left));
    this.#left -= head.text.length;
    return head;
  }
}

/** The beginning of a text, at most this many UTF-16 code units. */
export function headOf(text: string, length: number): TextHead {
  const bytes = Buffer.byteLength(text);
  if (text.length <= length) return { text, bytes };
  const isPair = length > 0 && (text.codePointAt(length - 1) ?? 0) > 0xffff;
  // Copied: V8 keeps the whole of a text in memory for a slice of it.
  const copy = Buffer.from(text.slice(0, isPair ? length - 1 : length), "utf16le").toString("utf16le");
  return { text: copy, bytes, cut: true };
}
