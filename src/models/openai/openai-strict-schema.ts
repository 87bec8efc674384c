import type { JsonSchema } from "../../tools/json-schema/json-schema.ts";
import { isFields } from "../../values/fields.ts";
import { type ClosedForm, closedSchema } from "../turn/closed-schema.ts";
import { inputOf } from "../turn/program-input.ts";

const FORM: ClosedForm = {
  words: new Set(
    "type title description enum const anyOf $ref $defs definitions properties required additionalProperties items minItems maxItems pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum default".split(
      " ",
    ),
  ),
  formats: new Set("date-time time date duration email hostname ipv4 ipv6 uuid".split(" ")),
};

/**
 * A schema for OpenAI's strict functions: every field is required, and an optional field may be null. Undefined for a
 * schema that strict functions cannot express. They allow alternatives everywhere but at the root.
 */
export function strictSchema(schema: JsonSchema): JsonSchema | undefined {
  return "anyOf" in schema ? undefined : closedSchema(schema, FORM, "null");
}

/** Like `strictSchema`, but with no null for an absent field: undefined if the schema has optional fields. */
export function exactSchema(schema: JsonSchema): JsonSchema | undefined {
  return "anyOf" in schema ? undefined : closedSchema(schema, FORM, "refused");
}

/** An input for the tool's original schema: removes nulls that stand for absent optional fields. */
export function withoutNulls(inputText: string, schema: JsonSchema): string {
  const input = inputOf(inputText);
  return input === undefined ? inputText : JSON.stringify(dropNulls(input, schema));
}

function dropNulls(value: unknown, schema: unknown): unknown {
  if (!isFields(schema)) return value;
  if (Array.isArray(value)) return value.map((item) => dropNulls(item, schema.items));
  if (!isFields(value) || !isFields(schema.properties)) return value;
  const { properties } = schema;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const kept = Object.entries(value).filter(
    ([name, field]) =>
      field !== null || required.has(name) || !Object.hasOwn(properties, name) || takesNull(properties[name]),
  );
  return Object.fromEntries(
    kept.map(([name, field]) => [name, Object.hasOwn(properties, name) ? dropNulls(field, properties[name]) : field]),
  );
}

function takesNull(schema: unknown): boolean {
  if (!isFields(schema)) return false;
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return types.includes("null") || (Array.isArray(schema.anyOf) && schema.anyOf.some(takesNull));
}
