import { cutMiddle } from "../values/cut-middle.ts";
import { cleanJson } from "./clean-json.ts";
import { INSET, insetText } from "./foreign-text.ts";

/** Bytes of an input that a person is shown. */
const SHOWN_BYTES = 2048;

/** What stands between the input of a call and the input as it was sent, where a person reads both. */
export const AS_SENT = "The tool's schema made it of this input:";

/** The input of a call for a person who decides about it, below the words that name the call. */
export function inputText({ input, rawInput }: { readonly input: unknown; readonly rawInput?: unknown }): string {
  const shown = jsonText(input);
  return rawInput === undefined ? shown : `${shown}\n${AS_SENT}\n${jsonText(rawInput)}`;
}

function jsonText(value: unknown): string {
  return cutMiddle(insetText(cleanJson(JSON.stringify(value))), SHOWN_BYTES, INSET);
}
