import { type Fields, isFields, isTexts, quickKey } from "../../base/index.ts";
import { BOUNDS, type JsonSchema, mapSchema, SCHEMA_MAPS } from "./json-schema.ts";

/** What authors call the types of JSON; undefined for any value. */
const TYPES: ReadonlyMap<string, string | undefined> = new Map(
  Object.entries({
    string: "string str text",
    number: "number float double decimal",
    integer: "integer int int32 int64 long",
    boolean: "boolean bool",
    array: "array list tuple",
    object: "object dict map",
    null: "null none",
    undefined: "any unknown mixed",
  }).flatMap(([type, words]) => words.split(" ").map((word) => [word, type === "undefined" ? undefined : type])),
);

/**
 * A schema in the words of draft 2020-12: with what older drafts say in others, what authors call types, and `null` or an
 * empty list where there is nothing. A type that means nothing stays. Call `refuseLarge` first: it works by recursion.
 */
export function currentDraft(schema: JsonSchema): JsonSchema {
  return mapSchema(schema, (part) => {
    const current = currentPart(part);
    rewriteRequired(current);
    if (typeof current.$ref === "string") current.$ref = current.$ref.replaceAll(/\/items(?=\/\d)/g, "/prefixItems");
    return current;
  }) as JsonSchema;
}

/** The same for the words of one part. */
export function currentPart(part: Fields): Record<string, unknown> {
  const schema: Record<string, unknown> = Object.fromEntries(
    Object.entries(part).filter(([word, value]) => word === "const" || word === "default" || value !== null),
  );
  for (const rewrite of REWRITES) rewrite(schema);
  return schema;
}

/** PHP writes an empty list for an empty object. */
function rewriteMaps(schema: Record<string, unknown>): void {
  for (const word of SCHEMA_MAPS) if (Array.isArray(schema[word]) && schema[word].length === 0) schema[word] = {};
}

/** Draft 3 says `required` in the field itself. */
function rewriteRequired(schema: Record<string, unknown>): void {
  const { properties } = schema;
  if (typeof valueOfType("boolean", schema.required) === "boolean") delete schema.required;
  if (!isFields(properties)) return;
  const names = Object.keys(properties).filter(
    (name) => valueOfType("boolean", (properties[name] as Fields | null)?.required) === true,
  );
  if (names.length === 0) return;
  schema.required = [...new Set([...(Array.isArray(schema.required) ? schema.required : []), ...names])];
}

function rewriteType(schema: Record<string, unknown>): void {
  const { type } = schema;
  if (typeof type !== "string" && !Array.isArray(type)) return;
  const words: readonly unknown[] = [type].flat();
  const types = words.map((one) => {
    const word = typeof one === "string" ? one.toLowerCase() : "";
    return TYPES.has(word) ? TYPES.get(word) : one;
  });
  if (types.includes(undefined)) delete schema.type;
  else schema.type = Array.isArray(type) ? types : types[0];
}

function rewriteValues(schema: Record<string, unknown>): void {
  if (schema.const !== undefined) schema.const = valueOfType(schema.type, schema.const);
  if (Array.isArray(schema.enum)) schema.enum = schema.enum.map((value) => valueOfType(schema.type, value));
}

/**
 * A value that a schema names, of the schema's type. YAML reads `1` and `true` without quotation marks as no texts, and some
 * generators write numbers as texts: of another type, no value could be it.
 */
function valueOfType(type: unknown, value: unknown): unknown {
  const types = new Set<unknown>([type].flat());
  const takes = (...names: readonly string[]) => names.some((name) => types.has(name));
  if (typeof value === "number") return !takes("number", "integer") && takes("string") ? String(value) : value;
  if (typeof value === "boolean") return !takes("boolean") && takes("string") ? String(value) : value;
  if (typeof value !== "string" || takes("string")) return value;
  if (takes("number", "integer") && String(Number(value)) === value) return Number(value);
  return takes("boolean") && /^(?:true|false)$/.test(value) ? value === "true" : value;
}

/** Some generators write numbers and flags as texts. A count is a whole number, and -1 stands for no bound at all. */
function rewriteNumbers(schema: Record<string, unknown>): void {
  for (const word of FLAGS) if (schema[word] !== undefined) schema[word] = valueOfType("boolean", schema[word]);
  for (const word of BOUNDS) {
    if (schema[word] === undefined) continue;
    const bound = valueOfType("number", schema[word]);
    const isNone = typeof bound === "number" && (word === "multipleOf" ? bound <= 0 : COUNTS.has(word) && bound < 0);
    if (isNone) delete schema[word];
    else if (typeof bound !== "number" || !COUNTS.has(word)) schema[word] = bound;
    else schema[word] = word.startsWith("max") ? Math.floor(bound) : Math.ceil(bound);
  }
}

/** What says nothing in its form: a provider checks it, and would refuse a whole request for a title that is a number. */
function rewriteForms(schema: Record<string, unknown>): void {
  const { description, examples, dependentRequired } = schema;
  if (isTexts(description)) schema.description = description.join("\n");
  if (examples !== undefined && !Array.isArray(examples)) schema.examples = [examples];
  for (const word of ["required", "type", "enum"])
    if (Array.isArray(schema[word])) schema[word] = distinct(schema[word]);
  if (isFields(dependentRequired)) {
    const lists = Object.entries(dependentRequired).map(([name, list]) => [name, distinct(list)]);
    schema.dependentRequired = Object.fromEntries(lists);
  }
  for (const [word, isRight] of FORMS) if (schema[word] !== undefined && !isRight(schema[word])) delete schema[word];
}

/** By `quickKey`: numbers and texts of others may all stand in one place of a set. */
function distinct(list: unknown): unknown {
  return Array.isArray(list) ? [...new Map(list.map((one) => [quickKey(one), one] as const)).values()] : list;
}

const isText = (value: unknown) => typeof value === "string";
const isFlag = (value: unknown) => typeof value === "boolean";
const isFilled = (value: unknown) => !Array.isArray(value) || value.length > 0;
const FLAGS = ["deprecated", "readOnly", "writeOnly", "uniqueItems"];
const COUNTS: ReadonlySet<string> = new Set(
  BOUNDS.filter((word) => /[a-z](?:Length|Items|Contains|Properties)$/.test(word)),
);
const FORMS: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ..."title description format $comment $anchor $dynamicAnchor contentMediaType contentEncoding"
    .split(" ")
    .map((word) => [word, isText] as const),
  ...FLAGS.map((word) => [word, isFlag] as const),
  ...["anyOf", "oneOf", "allOf", "type", "enum"].map((word) => [word, isFilled] as const),
  ["$id", (value) => isText(value) && !value.slice(0, -1).includes("#")],
  ["$vocabulary", isFields],
  ["contentSchema", (value) => isFields(value) || isFlag(value)],
]);

/** Draft 4 says by `true` that a bound is itself excluded. */
function rewriteBounds(schema: Record<string, unknown>): void {
  for (const [exclusive, bound] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    const { [exclusive]: isExclusive, [bound]: at } = schema;
    if (typeof isExclusive !== "boolean") continue;
    delete schema[exclusive];
    if (!isExclusive || at === undefined) continue;
    schema[exclusive] = at;
    delete schema[bound];
  }
}

/** Draft 7 says the schemas of the first elements by `items`, and that of the others by `additionalItems`. */
function rewriteTuple(schema: Record<string, unknown>): void {
  const { items, additionalItems } = schema;
  delete schema.additionalItems;
  if (!Array.isArray(items)) return;
  delete schema.items;
  if (items.length > 0) schema.prefixItems = items;
  if (additionalItems !== undefined) schema.items = additionalItems;
}

/** Draft 7 has one word for lists of names and for schemas. */
function rewriteDependencies(schema: Record<string, unknown>): void {
  const { dependencies } = schema;
  if (!isFields(dependencies)) return;
  delete schema.dependencies;
  for (const [word, ofLists, both] of [
    ["dependentRequired", true, (one: unknown, other: unknown) => [one, other].flat()],
    ["dependentSchemas", false, (one: unknown, other: unknown) => ({ allOf: [one, other] })],
  ] as const) {
    const added = Object.entries(dependencies).filter(([, one]) => Array.isArray(one) === ofLists);
    if (added.length === 0) continue;
    const current = new Map(Object.entries(isFields(schema[word]) ? schema[word] : {}));
    for (const [name, one] of added) current.set(name, current.has(name) ? both(current.get(name), one) : one);
    schema[word] = Object.fromEntries(current);
  }
}

const REWRITES = [
  rewriteMaps,
  rewriteType,
  rewriteValues,
  rewriteNumbers,
  rewriteBounds,
  rewriteTuple,
  rewriteDependencies,
  rewriteForms,
];
