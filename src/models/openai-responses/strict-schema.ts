import type { JsonSchema } from "../../tools/schema.ts";
import { type Fields, isFields } from "../fields.ts";

/** Words that a strict schema can have; a default, which it cannot, is left out. */
const WORDS = new Set(
  "type title description enum const anyOf $ref $defs definitions properties required additionalProperties items minItems maxItems pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum default".split(
    " ",
  ),
);
const FORMATS = new Set("date-time time date duration email hostname ipv4 ipv6 uuid".split(" "));
/** JSON that is searched for nulls, in characters. */
const INPUT_LENGTH = 4 * 1024 * 1024;

/**
 * A schema as OpenAI takes it for strict functions: every field required, and null where it was optional. Undefined
 * where it says something that has no words there.
 */
export function strictSchema(schema: JsonSchema): JsonSchema | undefined {
  // Alternatives may stand anywhere but at the root.
  if ("anyOf" in schema) return undefined;
  try {
    return toStrict(schema, true) as JsonSchema;
  } catch (error) {
    if (error instanceof NotStrict) return undefined;
    throw error;
  }
}

class NotStrict extends Error {}

/** `isPlain` where an input is led here by fields and lists alone, so that its nulls can be found again. */
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
  // A record has no fields that could be required.
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
