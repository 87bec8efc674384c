import { textOf } from "../../../values/fields.ts";
import { parsedJson } from "../../../values/json/json-text.ts";

/**
 * The program within a text that is the JSON of what a tool for programs takes, which models write in place of the program. Read
 * as a program it would be an object to return, and no call of its would be made. Undefined for any other text.
 */
export function wrappedProgram(source: string): string | undefined {
  if (!/^\s*\{/.test(source)) return undefined;
  const code = textOf(parsedJson(source), "code");
  return code !== undefined && /\btools\s*[.[]/.test(code) ? code : undefined;
}
