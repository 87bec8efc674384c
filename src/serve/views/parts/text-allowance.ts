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

export type TextAllowance = ReturnType<typeof textAllowance>;

/** Cuts texts to what a view may hold of them. */
export function textAllowance({ each: eachLength, all, only }: TextBounds) {
  let budget = all;
  /** The beginning of a text, within the bound of one text and what is left for all. */
  const head = (text: string, each = eachLength): TextHead => {
    const cut = headOf(text, Math.min(each, budget));
    budget -= cut.text.length;
    return cut;
  };
  return {
    head,
    isMeant: (id: string) => only === id,
    /** Like `head`, for what was said in a conversation: people read it whole. */
    message: (text: string) => head(text, Math.max(eachLength, SAID_LENGTH)),
    headOfCall: (id: string, text: string) => (only === undefined || only === id ? head(text) : headOf(text, 0)),
  };
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
