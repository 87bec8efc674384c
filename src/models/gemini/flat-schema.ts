import { type JsonSchema, mapSchema, resolveReference } from "../../tools/json-schema/json-schema.ts";
import { type Fields, isFields, listOf, without } from "../../base/index.ts";

const WORDS =
  "format title description enum minItems maxItems required minimum maximum minLength maxLength pattern".split(" ");
const MAX_TYPES = 7;
/** Maximum number of parts of a schema: references can expand a small schema to an enormous one. */
const MAX_PARTS = 2000;

/**
 * A schema with the keywords that Gemini supports: references are expanded, alternatives and constants translated, the
 * rest is left out. Only the model reads it; the gate checks inputs against the original schema.
 */
export function flatSchema(schema: JsonSchema): JsonSchema {
  return mapSchema(flattener(schema)(schema, []), fitted) as JsonSchema;
}

const OF_TYPE = { object: ["properties", "required"], array: ["items", "minItems", "maxItems"] };

/** The types beside which it takes such a value by name. */
const OF_VALUE: ReadonlyMap<string, readonly string[]> = new Map([
  ["string", ["string"]],
  ["number", ["number", "integer"]],
]);

/** A part without what Gemini answers with 400: words of other types, required fields that it does not name, odd values. */
function fitted(part: Fields): Fields {
  const { type = isFields(part.properties) ? "object" : undefined, properties, anyOf } = part;
  const required = listOf(part, "required").filter(
    (name) => isFields(properties) && Object.hasOwn(properties, String(name)),
  );
  const values = listOf(part, "enum");
  const named = values.filter(
    (value) => value !== "" && OF_VALUE.get(typeof value)?.includes(typeof type === "string" ? type : typeof value),
  );
  const isWhole = type !== undefined || named.length === values.length;
  // An alternative of which nothing is left takes every value.
  const says = listOf(part, "anyOf").every((one) => isFields(one) && Object.keys(fitted(one)).length > 0);
  const others = Object.entries(OF_TYPE).flatMap(([of, words]) => (type === undefined || type === of ? [] : words));
  const fit = {
    ...without(part, "required", "enum", "anyOf"),
    ...(type !== undefined && { type }),
    ...(required.length > 0 && { required }),
    ...(named.length > 0 && isWhole && { enum: named }),
    ...(anyOf !== undefined && says && { anyOf }),
  };
  return without(fit, ...others);
}

function flattener(root: JsonSchema) {
  let parts = 0;
  const flatten = (schema: unknown, following: readonly string[]): Fields => {
    parts += 1;
    if (!isFields(schema) || parts > MAX_PARTS) return {};
    if (typeof schema.$ref === "string") return follow(schema, schema.$ref, following);
    const flat: Record<string, unknown> = Object.fromEntries(
      WORDS.filter((word) => word in schema).map((word) => [word, schema[word]]),
    );
    if ("const" in schema) flat.enum = [schema.const];
    if (typeof schema.type === "string") flat.type = schema.type;
    const types = Array.isArray(schema.type)
      ? [...new Set(schema.type)].slice(0, MAX_TYPES).map((type: unknown) => ({ ...schema, type }))
      : undefined;
    const alternatives = schema.anyOf ?? schema.oneOf ?? types;
    if (Array.isArray(alternatives)) flat.anyOf = alternatives.map((one) => flatten(one, following));
    const { prefixItems, items } = schema;
    if (Array.isArray(prefixItems))
      flat.items = { anyOf: [...prefixItems, items ?? []].flat().map((one) => flatten(one, following)) };
    else if (items !== undefined || schema.type === "array") flat.items = flatten(items, following);
    // An object with more fields than there is room for is any object.
    if (isFields(schema.properties) && parts + Object.keys(schema.properties).length > MAX_PARTS) delete flat.required;
    else if (isFields(schema.properties))
      flat.properties = Object.fromEntries(
        Object.entries(schema.properties).map(([name, property]) => [name, flatten(property, following)]),
      );
    // `allOf` becomes one schema with the keywords of all.
    const all = Array.isArray(schema.allOf) ? schema.allOf.map((one) => flatten(one, following)) : [];
    return join([types ? only(flat, "description", "title", "anyOf") : flat, ...all]);
  };
  const follow = (schema: Fields, reference: string, following: readonly string[]): Fields => {
    const annotation = only(schema, "description");
    // A schema that refers to itself cannot be expanded.
    if (following.includes(reference)) return { ...annotation, type: "object" };
    return { ...flatten(resolveReference(root, reference), [...following, reference]), ...annotation };
  };
  return flatten;
}

function only(fields: Fields, ...names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));
}

/** Joins schemas: of equal keywords the last counts, except that fields and required names of all are kept. */
function join(all: readonly Fields[]): Fields {
  const words = Object.fromEntries(all.flatMap((one) => Object.entries(one)));
  const properties = all
    .filter((one) => isFields(one.properties))
    .flatMap((one) => Object.entries(one.properties as Fields));
  const required = all.flatMap((one) => (Array.isArray(one.required) ? (one.required as unknown[]) : []));
  return {
    ...words,
    ...(all.some((one) => isFields(one.properties)) && { properties: Object.fromEntries(properties) }),
    ...(required.length > 0 && { required: all.length > 1 ? [...new Set(required)] : required }),
  };
}
