import type { Fields } from "../values/fields.ts";
import { isLongInteger, jsonNumber } from "../values/json/exact-json.ts";
import { takesNumbersAlone, takesText } from "./json-schema/json-schema.ts";
import { mapValue } from "./json-schema/map-value.ts";
import { readJsonSchema, type Schema } from "./schema.ts";

/**
 * An input as a server is sent it by JSON.stringify: the digits of a whole number are the number, where the schema takes
 * numbers, and no part of it texts. A text that a person was shown stays one.
 */
export function withWholeNumbers<Input>(input: Input, schema: Schema): Input {
  if (!/"-?\d{16}/.test(JSON.stringify(input) ?? "")) return input;
  const scalar = (value: unknown, parts: readonly Fields[]) =>
    isLongInteger(value) && parts.some(takesNumbersAlone) && !parts.some(takesText) ? jsonNumber(value) : value;
  return mapValue(readJsonSchema(schema, "input"), input, { scalar }) as Input;
}
