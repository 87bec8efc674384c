import { type JsonSchema, resolveReference } from "../json-schema/json-schema.ts";
import { isFields } from "../../base/index.ts";
import { jsonHead } from "../json-schema/json-head.ts";
import { commentLine } from "./one-line.ts";

/** Maximum length of a pattern, and of a default, that is shown; in characters. */
const PATTERN_LENGTH = 40;
const DEFAULT_LENGTH = 40;
/** Maximum of schema parts read for one value. */
const PARTS_READ = 16;

/**
 * What a schema demands of a value beyond its type, for a model that has to pass one: `integer, 1 to 100, default 20`.
 * Empty if it demands nothing more. Follows references within `root`. With `tellsIntegers` the text says `integer`, for
 * a notation that has no type for integers.
 */
export function constraintText(root: JsonSchema, schema: unknown, tellsIntegers: boolean): string {
  const parts = partsOf(root, schema);
  return joined([
    ...ownWords(parts, tellsIntegers),
    ...elementWords(root, parts, tellsIntegers),
    ...parts.flatMap(defaultWords),
  ]);
}

/** What the parts demand of the value itself, without its elements. */
function ownWords(parts: readonly JsonSchema[], tellsIntegers: boolean): readonly string[] {
  return [
    ...parts.flatMap(({ type }) => (tellsIntegers && [type].flat().includes("integer") ? ["integer"] : [])),
    ...parts.flatMap(numberWords),
    ...parts.flatMap(stringWords),
    ...parts.flatMap(({ minItems, maxItems }) => range(minItems, maxItems, " items")),
    ...parts.flatMap(({ uniqueItems, type = "array" }) =>
      uniqueItems === true && [type].flat().includes("array") ? ["no two equal"] : [],
    ),
    ...parts.flatMap(keyWords),
  ];
}

function defaultWords(part: JsonSchema): readonly string[] {
  if (!("default" in part)) return [];
  return [`default ${commentLine(jsonHead(part.default, DEFAULT_LENGTH) ?? "unknown", DEFAULT_LENGTH)}`];
}

function joined(words: readonly string[]): string {
  return [...new Set(words)].join(", ");
}

/** The parts of a schema that hold for every value. If all alternatives but one are null, the remaining one is such a part. */
function partsOf(root: JsonSchema, schema: unknown): readonly JsonSchema[] {
  const parts: JsonSchema[] = [];
  const open: unknown[] = [schema];
  for (let part = open.shift(); part !== undefined && parts.length < PARTS_READ; part = open.shift()) {
    if (!isFields(part)) continue;
    parts.push(part);
    if (typeof part.$ref === "string") open.push(resolveReference(root, part.$ref));
    if (Array.isArray(part.allOf)) open.push(...(part.allOf as readonly unknown[]).slice(0, PARTS_READ));
    const alternatives = part.anyOf ?? part.oneOf;
    if (!Array.isArray(alternatives) || alternatives.length > 2) continue;
    const others = (alternatives as readonly unknown[]).filter((other) => !isFields(other) || other.type !== "null");
    if (others.length === 1) open.push(others[0]);
  }
  return parts;
}

function numberWords(part: JsonSchema): readonly string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = part;
  return [
    ...range(bound(minimum), bound(maximum), ""),
    ...(typeof exclusiveMinimum === "number" ? [`> ${exclusiveMinimum}`] : []),
    ...(typeof exclusiveMaximum === "number" ? [`< ${exclusiveMaximum}`] : []),
    ...(typeof multipleOf === "number" ? [`multiple of ${multipleOf}`] : []),
  ];
}

/** Undefined for the bounds of safe integers, which libraries give for every integer. */
function bound(value: unknown): unknown {
  return typeof value === "number" && Math.abs(value) >= Number.MAX_SAFE_INTEGER ? undefined : value;
}

/** The first names of an object, which may have thousands, and be referred to from hundreds of fields. */
function firstNames(fields: object): readonly string[] {
  const names = nameCache.get(fields) ?? Object.keys(fields).slice(0, PARTS_READ);
  nameCache.set(fields, names);
  return names;
}

const nameCache = new WeakMap<object, readonly string[]>();

function keyWords({ propertyNames, patternProperties }: JsonSchema): readonly string[] {
  const patterns = isFields(patternProperties) ? firstNames(patternProperties) : [];
  const schemas = [...patterns.map((pattern) => ({ pattern })), ...(isFields(propertyNames) ? [propertyNames] : [])];
  const words = schemas.flatMap(stringWords);
  return words.length === 0 ? [] : [`keys ${words.join(" or ")}`];
}

/** A pattern without a `.*` at its ends, which says nothing. */
function withoutAny(pattern: string): string {
  return pattern.replace(/^\.\*(?=.)/, "").replace(/(?<=[^\\])\.\*$/, "");
}

/** What zod calls formats, where the pattern says what is meant. */
const NAMES_OF_PATTERNS = /^(?:starts_with|ends_with|includes|lowercase|uppercase)$/;

function stringWords({ pattern, minLength, maxLength, ...others }: JsonSchema): readonly string[] {
  const format = others.format ?? others.contentEncoding;
  const form =
    typeof format === "string" && !NAMES_OF_PATTERNS.test(format)
      ? [commentLine(format, PATTERN_LENGTH)]
      : typeof pattern === "string"
        ? [`/${commentLine(withoutAny(pattern), PATTERN_LENGTH)}/`]
        : [];
  const length =
    minLength === 1 && maxLength === undefined ? ["not empty"] : range(minLength, maxLength, " characters");
  return [...form, ...length];
}

/** Reads one level of elements: a schema may refer to itself through its elements, and each level multiplies the parts that are read. */
function elementWords(root: JsonSchema, parts: readonly JsonSchema[], tellsIntegers: boolean): readonly string[] {
  return parts.flatMap(({ prefixItems, items, additionalProperties }) => {
    // Of a tuple, only the elements behind the first ones are meant.
    if (prefixItems !== undefined) return [];
    const elements = partsOf(root, items ?? additionalProperties);
    if (elements.some((element) => "items" in element || "additionalProperties" in element)) return [];
    const text = joined([...ownWords(elements, tellsIntegers), ...elements.flatMap(defaultWords)]);
    return text === "" ? [] : [`each ${text}`];
  });
}

function range(min: unknown, max: unknown, unit: string): readonly string[] {
  const hasMin = typeof min === "number";
  const hasMax = typeof max === "number";
  if (hasMin && hasMax) return [min === max ? `${min}${unit}` : `${min} to ${max}${unit}`];
  if (hasMin) return [`>= ${min}${unit}`];
  return hasMax ? [`<= ${max}${unit}`] : [];
}
