import { type JsonSchema, resolveReference } from "./schema.ts";
import { oneLine } from "./one-line.ts";

/** Maximum length of a pattern, and of a default, that is shown; in characters. */
const PATTERN_LENGTH = 40;
const DEFAULT_LENGTH = 40;
/** Maximum of schema parts read for one value. */
const PARTS_READ = 16;

/**
 * What a schema demands of a value beyond its type, for a model that has to pass one: `integer, 1 to 100, default 20`. An
 * empty string where it demands nothing more. Follows references within `root`. With `tellsIntegers` the text says `integer`,
 * for a notation whose type does not.
 */
export function constraintText(root: JsonSchema, schema: unknown, tellsIntegers: boolean): string {
  const parts = partsOf(root, schema);
  const words = (make: (part: JsonSchema) => readonly string[]) => parts.flatMap(make);
  const texts = [
    ...words(({ type }) => (tellsIntegers && [type].flat().includes("integer") ? ["integer"] : [])),
    ...words(numberWords),
    ...words(stringWords),
    ...words(({ minItems, maxItems }) => range(minItems, maxItems, " items")),
    ...words(({ uniqueItems }) => (uniqueItems === true ? ["no two equal"] : [])),
    ...elementWords(root, parts, tellsIntegers),
    ...words((part) => ("default" in part ? [`default ${shortJson(part.default)}`] : [])),
  ];
  return [...new Set(texts)].join(", ");
}

/** The parts of a schema that hold for every value of its kind; of alternatives, the only one that is not null. */
function partsOf(root: JsonSchema, schema: unknown): readonly JsonSchema[] {
  const parts: JsonSchema[] = [];
  const open: unknown[] = [schema];
  for (let part = open.shift(); part !== undefined && parts.length < PARTS_READ; part = open.shift()) {
    if (typeof part !== "object" || part === null || Array.isArray(part)) continue;
    const one = part as JsonSchema;
    parts.push(one);
    if (typeof one.$ref === "string") open.push(resolveReference(root, one.$ref));
    if (Array.isArray(one.allOf)) open.push(...(one.allOf as readonly unknown[]).slice(0, PARTS_READ));
    const alternatives = one.anyOf ?? one.oneOf;
    if (!Array.isArray(alternatives) || alternatives.length > 2) continue;
    const others = (alternatives as readonly unknown[]).filter((other) => !isNull(other));
    if (others.length === 1) open.push(others[0]);
  }
  return parts;
}

function isNull(schema: unknown): boolean {
  return typeof schema === "object" && schema !== null && "type" in schema && schema.type === "null";
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

function stringWords({ format, pattern, minLength, maxLength }: JsonSchema): readonly string[] {
  const form =
    typeof format === "string"
      ? [oneLine(format, PATTERN_LENGTH)]
      : typeof pattern === "string"
        ? [`/${oneLine(pattern, PATTERN_LENGTH)}/`]
        : [];
  const length =
    minLength === 1 && maxLength === undefined ? ["not empty"] : range(minLength, maxLength, " characters");
  return [...form, ...length];
}

function elementWords(root: JsonSchema, parts: readonly JsonSchema[], tellsIntegers: boolean): readonly string[] {
  const elements = parts
    .map(({ items }) => items)
    .filter((items) => typeof items === "object" && items !== null && !("items" in items));
  return elements
    .map((items) => constraintText(root, items, tellsIntegers))
    .flatMap((text) => (text === "" ? [] : [`each ${text}`]));
}

function range(min: unknown, max: unknown, unit: string): readonly string[] {
  const hasMin = typeof min === "number";
  const hasMax = typeof max === "number";
  if (hasMin && hasMax) return [min === max ? `${min}${unit}` : `${min} to ${max}${unit}`];
  if (hasMin) return [`>= ${min}${unit}`];
  return hasMax ? [`<= ${max}${unit}`] : [];
}

function shortJson(value: unknown): string {
  return oneLine(JSON.stringify(value) ?? "unknown", DEFAULT_LENGTH);
}
