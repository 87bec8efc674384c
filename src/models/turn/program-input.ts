import { textOf } from "../../values/fields.ts";
import { parsedJson } from "../../values/json/json-text.ts";
import { measure, PLAIN_DEPTH } from "../../values/json/plain-data.ts";

/** Longest input of a call that is parsed here, in UTF-16 code units, and its most values. The gate checks inputs itself. */
const INPUT_LENGTH = 4 * 1024 * 1024;
const INPUT_VALUES = 65_536;

/** Input schema of the tool for programs, for providers whose tools take JSON. */
export const PROGRAM_SCHEMA = {
  type: "object",
  properties: { code: { type: "string", description: "the program's source" } },
  required: ["code"],
  additionalProperties: false,
} as const;

/** The input that a model wrote as JSON; undefined for a text that is no JSON or far too large. */
export function inputOf(text: string): unknown {
  if (text.length > INPUT_LENGTH) return undefined;
  const { depth, values } = measure(text);
  return depth > PLAIN_DEPTH || values > INPUT_VALUES ? undefined : parsedJson(text);
}

/** The source in the JSON input of the tool for programs; undefined if there is none. */
export function sourceOf(inputText: string): string | undefined {
  return textOf(inputOf(inputText), "code");
}
