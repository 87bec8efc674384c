import { betweenText, endsOf, INSET, insetText } from "../../base/index.ts";
import { cleanJson } from "./clean-json.ts";

const SHOWN_BYTES = 2048;
/** Bytes of each text in an input that is longer than that: all as long as they may be is tried first. */
const TEXT_BYTES = [512, 128, 32];

/** What stands between the input of a call and the input as it was sent, where a person reads both. */
const AS_SENT = "The tool's schema made it of this input:";

interface Inputs {
  readonly input: unknown;
  readonly rawInput?: unknown;
}

/** The input of a call for a person who decides about it, below the words that name the call. */
export interface InputShown {
  readonly text: string;
  /** Whether nothing is left out. */
  readonly isWhole: boolean;
}

/** Only long texts are cut: the caller chooses the order and the length of fields, and must not hide one by another. */
export function shownInput({ input, rawInput }: Inputs, most = SHOWN_BYTES): InputShown {
  const shown = jsonShown(input, most);
  if (rawInput === undefined) return shown;
  return { ...shown, text: `${shown.text}\n${AS_SENT}\n${jsonShown(rawInput, most).text}` };
}

function jsonShown(value: unknown, most: number): InputShown {
  const json = jsonOf(value);
  if (json === undefined) return { text: `${INSET}(nested too deeply to be shown)`, isWhole: false };
  const whole = json.length <= most ? shownJson(json) : undefined;
  if (whole !== undefined && Buffer.byteLength(whole) <= most) return { text: whole, isWhole: true };
  for (const bytes of TEXT_BYTES) {
    const short = shortJson(value, bytes);
    const text = short === undefined ? undefined : shownJson(short);
    if (text !== undefined && Buffer.byteLength(text) <= SHOWN_BYTES) return { text, isWhole: false };
  }
  const [first, last] = [json.slice(0, SHOWN_BYTES), json.slice(-SHOWN_BYTES)];
  const ends = endsOf({ first: shownJson(first), last: shownJson(last), length: json.length }, SHOWN_BYTES);
  return { text: `${ends.first}\n${INSET}${betweenText(ends.between)}\n${INSET}${ends.last}`, isWhole: false };
}

/** Undefined if the value is nested too deeply. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    return undefined;
  }
}

const shownJson = (json: string) => insetText(cleanJson(json));

class TooLong extends Error {}

/** The value with the middle cut out of its long texts; undefined if that is more than is shown. No more of it is looked at then. */
function shortJson(value: unknown, textBytes: number): string | undefined {
  let length = 0;
  const shortened = (_: string, part: unknown) => {
    length += 1;
    const text = typeof part === "string" ? shortText(part, textBytes) : part;
    if (typeof text === "string") length += text.length;
    if (length > SHOWN_BYTES) throw new TooLong();
    return text;
  };
  try {
    return JSON.stringify(value, shortened);
  } catch (error) {
    if (error instanceof TooLong) return undefined;
    throw error;
  }
}

function shortText(text: string, most: number): string {
  if (Buffer.byteLength(text) <= most) return text;
  const { first, between, last } = endsOf(text, most);
  return `${first}${betweenText(between)}${last}`;
}
