import { betweenText, cutMiddle, endsOf } from "../values/cut-middle.ts";
import { cleanJson } from "./clean-json.ts";
import { INSET, insetText } from "./foreign-text.ts";

/** Bytes of an input that a person is shown. */
const SHOWN_BYTES = 2048;
/** Bytes of each text in an input that is longer than that: all as long as they may be is tried first. */
const TEXT_BYTES = [512, 128, 32];

/** What stands between the input of a call and the input as it was sent, where a person reads both. */
export const AS_SENT = "The tool's schema made it of this input:";

interface Inputs {
  readonly input: unknown;
  readonly rawInput?: unknown;
}

/** The input of a call for a person who decides about it, below the words that name the call. */
export interface InputShown {
  readonly text: string;
  /** Whether all fields are in the text, with all of their values but the middle of long texts. */
  readonly hasAllFields: boolean;
}

/** Only long texts are cut: the caller chooses the order and the length of fields, and must not hide one by another. */
export function shownInput({ input, rawInput }: Inputs): InputShown {
  const shown = jsonShown(input);
  if (rawInput === undefined) return shown;
  return { ...shown, text: `${shown.text}\n${AS_SENT}\n${jsonShown(rawInput).text}` };
}

/** The text of `shownInput`. */
export function inputText(inputs: Inputs): string {
  return shownInput(inputs).text;
}

function jsonShown(value: unknown): InputShown {
  const whole = jsonText(value);
  if (fits(whole)) return { text: whole, hasAllFields: true };
  for (const bytes of TEXT_BYTES) {
    const text = jsonText(value, bytes);
    if (fits(text)) return { text, hasAllFields: true };
  }
  return { text: cutMiddle(whole, SHOWN_BYTES, INSET), hasAllFields: false };
}

function jsonText(value: unknown, textBytes = Number.POSITIVE_INFINITY): string {
  const shortened = (_: string, part: unknown) => (typeof part === "string" ? shortText(part, textBytes) : part);
  return insetText(cleanJson(JSON.stringify(value, textBytes < Number.POSITIVE_INFINITY ? shortened : undefined)));
}

function shortText(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text;
  const { first, between, last } = endsOf({ first: text, last: text, length: text.length }, most);
  return `${first}${betweenText(between)}${last}`;
}

const fits = (text: string) => Buffer.byteLength(text) <= SHOWN_BYTES;
