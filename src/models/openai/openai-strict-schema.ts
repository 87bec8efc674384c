import { type JsonSchema, mapSchema } from "../../tools/json-schema/json-schema.ts";
import { type Fields, isFields, listOf } from "../../base/index.ts";
import { type ClosedForm, closedSchema } from "../turn/closed-schema.ts";
import { rewrittenText } from "../turn/declared-input.ts";

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

/** A schema for functions that are not strict: OpenAI asks for the items of each list and the fields of each object. */
export function completeSchema(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, complete) as JsonSchema;
}

function complete(part: Fields): Fields {
  const types = new Set([part.type].flat());
  return {
    ...part,
    ...(types.has("array") && part.items === undefined && { items: {} }),
    ...(types.has("object") && part.properties === undefined && { properties: {} }),
  };
}

/** An input for the tool's original schema: removes nulls that stand for absent optional fields. */
export function withoutNulls(inputText: string, schema: JsonSchema): string {
  return rewrittenText(inputText, (input) => dropNulls(input, schema));
}

function dropNulls(value: unknown, schema: unknown): unknown {
  if (!isFields(schema)) return value;
  if (Array.isArray(value)) return value.map((item) => dropNulls(item, schema.items));
  if (!isFields(value) || !isFields(schema.properties)) return value;
  const { properties } = schema;
  const absent = absentAsNull.get(schema) ?? namesAbsentAsNull(schema, properties);
  absentAsNull.set(schema, absent);
  const kept = Object.entries(value).filter(([name, field]) => field !== null || !absent.has(name));
  return Object.fromEntries(
    kept.map(([name, field]) => [name, Object.hasOwn(properties, name) ? dropNulls(field, properties[name]) : field]),
  );
}

/** By parts of schemas, because an input may have a million values for one part. */
const absentAsNull = new WeakMap<Fields, ReadonlySet<string>>();

function namesAbsentAsNull(schema: Fields, properties: Fields): ReadonlySet<string> {
  const required = new Set(listOf(schema, "required"));
  return new Set(Object.keys(properties).filter((name) => !required.has(name) && !takesNull(properties[name])));
}

function takesNull(schema: unknown): boolean {
  if (!isFields(schema)) return false;
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return types.includes("null") || (Array.isArray(schema.anyOf) && schema.anyOf.some(takesNull));
}
