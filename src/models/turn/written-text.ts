import { fieldOf, textOf } from "../../base/index.ts";

/**
 * A text, or a piece of one, that a model wrote as the input of a call; empty if there is none. Throws a `SyntaxError` for
 * any other value: the call would be made with less than the model wrote.
 */
export function textField(holder: unknown, field: string): string {
  const value = fieldOf(holder, field) ?? "";
  if (typeof value !== "string") throw new SyntaxError(`The field ${field} of a call is no text.`);
  return value;
}

/**
 * A piece of a model's words; undefined if there is none. Some servers write a piece that looks like a number or a truth value
 * as one: without it a price or a negation is another.
 */
export function pieceOf(holder: unknown, field: string): string | undefined {
  const value = fieldOf(holder, field);
  return typeof value === "number" || typeof value === "boolean" ? String(value) : textOf(holder, field);
}
