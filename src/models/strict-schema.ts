import type { JsonSchema } from "../tools/schema.ts";
import { type Fields, isFields } from "./fields.ts";

/** Words that a strict schema cannot have. */
const UNKNOWN_WORDS = [
  "allOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "dependentRequired",
  "dependentSchemas",
  "patternProperties",
  "prefixItems",
];
/** JSON that is searched for nulls, in characters. */
const INPUT_LENGTH = 4 * 1024 * 1024;

/**
 * A schema as OpenAI takes it for strict functions: every field required, and null where it was optional. Undefined
 * where it says something that has no words there.
 */
export function strictSchema(schema: JsonSchema): JsonSchema | undefined {
  try {
    return toStrict(schema) as JsonSchema;
  } catch (error) {
    if (error instanceof NotStrict) return undefined;
    throw error;
  }
}

class NotStrict extends Error {}

function toStrict(schema: unknown): unknown {
  if (!isFields(schema) || UNKNOWN_WORDS.some((word) => word in schema)) throw new NotStrict();
  const { default: _, ...rest } = schema;
  const strict: Record<string, unknown> = { ...rest };
  for (const word of ["$defs", "definitions"])
    if (isFields(schema[word])) strict[word] = mapFields(schema[word], (definition) => toStrict(definition));
  if (Array.isArray(schema.anyOf)) strict.anyOf = schema.anyOf.map(toStrict);
  if (schema.items !== undefined) strict.items = toStrict(schema.items);
  if (schema.type !== "object") return strict;
  // A record has no fields that could be required.
  if (!isFields(schema.properties) || isFields(schema.additionalProperties)) throw new NotStrict();
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  strict.properties = mapFields(schema.properties, (property, name) =>
    required.has(name) ? toStrict(property) : { anyOf: [toStrict(property), { type: "null" }] },
  );
  strict.required = Object.keys(schema.properties);
  strict.additionalProperties = false;
  return strict;
}

function mapFields(fields: Fields, map: (value: unknown, name: string) => unknown): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, map(value, name)]));
}

/** An input as the tool's own schema has it: a null that stands for an absent optional field goes. */
export function withoutNulls(inputText: string, schema: JsonSchema): string {
  if (inputText.length > INPUT_LENGTH) return inputText;
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
