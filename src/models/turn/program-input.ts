import { textOf } from "../../values/fields.ts";

/** Longest JSON text that is parsed for a source, in UTF-16 code units. `prepare/` checks the source itself. */
export const MAX_INPUT_LENGTH = 4 * 1024 * 1024;

/** Input schema of the tool for programs, for providers whose tools take JSON. */
export const PROGRAM_SCHEMA = {
  type: "object",
  properties: { code: { type: "string", description: "the program's source" } },
  required: ["code"],
  additionalProperties: false,
} as const;

/** The source in the JSON input of the tool for programs; undefined if there is none. */
export function sourceOf(inputText: string): string | undefined {
  if (inputText.length > MAX_INPUT_LENGTH) return undefined;
  try {
    return textOf(JSON.parse(inputText), "code");
  } catch {
    return undefined;
  }
}
