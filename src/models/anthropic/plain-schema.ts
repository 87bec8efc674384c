import type { JsonSchema } from "../../tools/json-schema/json-schema.ts";
import { type Fields, isFields } from "../../values/fields.ts";
import { hasCycle } from "./schema-cycle.ts";

/** Keywords of the schemas to which Anthropic can hold a model; `default` is removed. */
const WORDS = new Set(
  "type title description enum const anyOf $ref $defs definitions properties required additionalProperties items format default".split(
    " ",
  ),
);
const FORMATS = new Set("date-time time date duration email hostname uri ipv4 ipv6 uuid".split(" "));

/**
 * A schema to which Anthropic can hold a model: objects have named fields only, and nothing bounds a number or a
 * length. Undefined for a schema that cannot be expressed so. Every value that fits the result fits the original.
 */
export function plainSchema(schema: JsonSchema): JsonSchema | undefined {
  if (schema.type !== "object" || hasCycle(schema)) return undefined;
  try {
    return toPlain(schema) as JsonSchema;
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
}

class NotPlain extends Error {}

function toPlain(schema: unknown): unknown {
  if (!isFields(schema) || !Object.keys(schema).every((word) => WORDS.has(word))) throw new NotPlain();
  if ("format" in schema && !FORMATS.has(String(schema.format))) throw new NotPlain();
  if ("$ref" in schema && !/^#\/(?:\$defs|definitions)\//.test(String(schema.$ref))) throw new NotPlain();
  const { default: _, ...rest } = schema;
  const plain: Record<string, unknown> = { ...rest };
  for (const word of ["$defs", "definitions", "properties"])
    if (isFields(schema[word])) plain[word] = eachPlain(schema[word]);
  if (Array.isArray(schema.anyOf)) plain.anyOf = schema.anyOf.map(toPlain);
  if (schema.items !== undefined) plain.items = toPlain(schema.items);
  if (schema.type !== "object" && !("properties" in schema)) return plain;
  if (schema.type !== "object" || !isFields(schema.properties) || isFields(schema.additionalProperties))
    throw new NotPlain();
  plain.additionalProperties = false;
  return plain;
}

function eachPlain(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, toPlain(value)]));
}

/** Optional fields and alternatives of a schema. */
export function countOpen(schema: unknown): number {
  if (Array.isArray(schema)) return schema.reduce((sum: number, one) => sum + countOpen(one), 0);
  if (!isFields(schema)) return 0;
  const { properties, required, anyOf } = schema;
  const optional = isFields(properties)
    ? Object.keys(properties).length - (Array.isArray(required) ? required.length : 0)
    : 0;
  return Math.max(0, optional) + (Array.isArray(anyOf) ? 1 : 0) + countOpen(Object.values(schema));
}
