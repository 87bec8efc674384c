import { fieldOf } from "../../values/fields.ts";

/**
 * A text, or a piece of one, that a model wrote as the input of a call; empty if there is none. Throws a `SyntaxError` for
 * any other value: the call would be made with less than the model wrote.
 */
export function writtenText(holder: unknown, field: string): string {
  const value = fieldOf(holder, field) ?? "";
  if (typeof value !== "string") throw new SyntaxError(`The field ${field} of a call is no text.`);
  return value;
}
