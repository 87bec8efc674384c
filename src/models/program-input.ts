import { textOf } from "./fields.ts";

/** JSON that a program's source can have at most, in characters; what a program may have is checked where it is prepared. */
const SOURCE_LENGTH = 4 * 1024 * 1024;

/** The tool for programs, where a provider's tools take JSON: one string. */
export const PROGRAM_SCHEMA = {
  type: "object",
  properties: { code: { type: "string", description: "the program's source" } },
  required: ["code"],
  additionalProperties: false,
} as const;

/** A program's source out of the JSON that a model sent for it; undefined where there is none. */
export function sourceOf(inputText: string): string | undefined {
  if (inputText.length > SOURCE_LENGTH) return undefined;
  try {
    return textOf(JSON.parse(inputText), "code");
  } catch {
    return undefined;
  }
}
