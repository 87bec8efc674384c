import { textOf } from "../../values/fields.ts";
import { parsedJson } from "../../values/json/json-text.ts";

/** Longest JSON text that is parsed for a source, in UTF-16 code units. `prepare/` checks the source itself. */
const MAX_INPUT_LENGTH = 4 * 1024 * 1024;

/** Input schema of the tool for programs, for providers whose tools take JSON. */
export const PROGRAM_SCHEMA = {
  type: "object",
  properties: { code: { type: "string", description: "the program's source" } },
  required: ["code"],
  additionalProperties: false,
} as const;

/** The input of a call in its JSON text; undefined for a text that is no JSON or far too long. */
export function inputOf(text: string): unknown {
  return text.length > MAX_INPUT_LENGTH ? undefined : parsedJson(text);
}

/** The source in the JSON input of the tool for programs; undefined if there is none. */
export function sourceOf(inputText: string): string | undefined {
  return textOf(inputOf(inputText), "code");
}
