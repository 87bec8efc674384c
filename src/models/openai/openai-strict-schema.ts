import type { JsonSchema } from "../../tools/json-schema/json-schema.ts";
import { type Fields, isFields } from "../../values/fields.ts";

/** Keywords of a schema that can be made strict; `default` is removed. */
const WORDS = new Set(
  "type title description enum const anyOf $ref $defs definitions properties required additionalProperties items minItems maxItems pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum default".split(
    " ",
  ),
);
const FORMATS = new Set("date-time time date duration email hostname ipv4 ipv6 uuid".split(" "));
/** Longest input that is searched for nulls, in UTF-16 code units. */
const MAX_INPUT_LENGTH = 4 * 1024 * 1024;

/**
 * A schema for OpenAI's strict functions: every field is required, and an optional field may be null. Undefined for a
 * schema that strict functions cannot express.
 */
export function strictSchema(schema: JsonSchema): JsonSchema | undefined {
  return strictOrNothing(schema, true);
}

/** Like `strictSchema`, but with no null for an absent field: undefined if the schema has optional fields. */
export function exactSchema(schema: JsonSchema): JsonSchema | undefined {
  return strictOrNothing(schema, false);
}

function strictOrNothing(schema: JsonSchema, mayBeNull: boolean): JsonSchema | undefined {
  // Strict schemas allow alternatives everywhere but at the root.
  if ("anyOf" in schema) return undefined;
  try {
    return toStrict(schema, mayBeNull) as JsonSchema;
  } catch (error) {
    if (error instanceof NotStrict) return undefined;
    throw error;
  }
}

class NotStrict extends Error {}

/** `isPlain` is true while only fields and lists lead to this part, so that `withoutNulls` finds its nulls. */
function toStrict(schema: unknown, isPlain: boolean): unknown {
  if (!isFields(schema) || !Object.keys(schema).every((word) => WORDS.has(word))) throw new NotStrict();
  if ("format" in schema && !FORMATS.has(String(schema.format))) throw new NotStrict();
  if ("$ref" in schema && !/^#\/(?:\$defs|definitions)\//.test(String(schema.$ref))) throw new NotStrict();
  const { default: _, ...rest } = schema;
  const strict: Record<string, unknown> = { ...rest };
  for (const word of ["$defs", "definitions"])
    if (isFields(schema[word])) strict[word] = mapFields(schema[word], (definition) => toStrict(definition, false));
  if (Array.isArray(schema.anyOf)) strict.anyOf = schema.anyOf.map((one) => toStrict(one, false));
  if (schema.items !== undefined) strict.items = toStrict(schema.items, isPlain);
  if (schema.type !== "object" && !("properties" in schema)) return strict;
  // Strict functions need named fields, and a record has none.
  if (schema.type !== "object" || !isFields(schema.properties) || isFields(schema.additionalProperties))
    throw new NotStrict();
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  strict.properties = mapFields(schema.properties, (property, name) => {
    if (required.has(name)) return toStrict(property, isPlain);
    if (!isPlain) throw new NotStrict();
    return { anyOf: [toStrict(property, isPlain), { type: "null" }] };
  });
  strict.required = Object.keys(schema.properties);
  strict.additionalProperties = false;
  return strict;
}

function mapFields(fields: Fields, map: (value: unknown, name: string) => unknown): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, map(value, name)]));
}

/** An input for the tool's original schema: removes nulls that stand for absent optional fields. */
export function withoutNulls(inputText: string, schema: JsonSchema): string {
  if (inputText.length > MAX_INPUT_LENGTH) return inputText;
  try {
    return JSON.stringify(dropNulls(JSON.parse(inputText), schema));
  } catch {
    return inputText;
  }
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
