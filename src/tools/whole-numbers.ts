import { jsonNumber } from "../base/index.ts";
import { withDigitsAs } from "./json-schema/map-value.ts";
import { readJsonSchema, type Schema } from "./schema.ts";

/**
 * An input as a server is sent it by JSON.stringify: the digits of a whole number are the number, where the check takes them
 * for it. A text that a person was shown stays one.
 */
export function withWholeNumbers<Input>(input: Input, schema: Schema): Input {
  if (!/"-?\d{16}/.test(JSON.stringify(input) ?? "")) return input;
  return withDigitsAs(jsonNumber, readJsonSchema(schema, "input"), input) as Input;
}
