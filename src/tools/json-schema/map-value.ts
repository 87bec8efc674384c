import { fieldOf, type Fields, isFields, isLongInteger } from "../../base/index.ts";
import { type JsonSchema, resolveReference, takesNumbersAlone, takesText } from "./json-schema.ts";

/** Parts of a schema that are looked at for one value. What is left of the value then stays as it is. */
const MAX_PARTS = 1_000_000;

export interface ValueMap {
  /** The name of a field that the schema names. */
  readonly name?: (name: string) => string;
  /** A value that is no object and no list. `parts` say what it may be. */
  readonly scalar?: (value: unknown, parts: readonly Fields[]) => unknown;
}

/** A value with the digits of whole numbers as numbers, where a schema takes numbers, and no part of it texts. */
export function withDigitsAs(
  number: (digits: string) => unknown,
  schema: JsonSchema | boolean,
  value: unknown,
): unknown {
  const scalar = (one: unknown, parts: readonly Fields[]) =>
    isLongInteger(one) && parts.some(takesNumbersAlone) && !parts.some(takesText) ? number(one) : one;
  return typeof schema === "boolean" ? value : mapValue(schema, value, { scalar });
}

/** A copy of a value with what is to stand in place of its names and scalars, by what a schema says of them. */
export function mapValue(root: JsonSchema, value: unknown, { name, scalar }: ValueMap): unknown {
  let budget = MAX_PARTS;
  const targets = new Map<string, unknown>();
  const targetOf = (reference: string): unknown => {
    if (!targets.has(reference)) targets.set(reference, resolveReference(root, reference));
    return targets.get(reference);
  };
  const map = (one: unknown, schemas: readonly unknown[]): unknown => {
    budget -= 1;
    const parts = partsInPlace(schemas, targetOf, () => (budget -= 1) >= 0);
    if (parts.length === 0) return one;
    // Each part is asked about each element and field.
    const isSpent = () => (budget -= parts.length) < 0;
    if (Array.isArray(one))
      return one.map((element, index) =>
        isSpent()
          ? element
          : map(
              element,
              parts.flatMap((part) => elementOf(part, index)),
            ),
      );
    if (!isFields(one)) return scalar ? scalar(one, parts) : one;
    const fields = Object.entries(one).map(([key, field]) => {
      if (isSpent()) return [key, field];
      const named = parts.map(({ properties }) => fieldOf(properties, key)).filter((part) => part !== undefined);
      if (named.length === 0) return [key, map(field, parts.flatMap(othersOf))];
      return [name ? name(key) : key, map(field, named)];
    });
    return Object.fromEntries(fields);
  };
  return map(value, [root]);
}

/** The parts of a schema that speak of the same value, also where it depends on the value whether they do. None if not all can be paid. */
function partsInPlace(
  schemas: readonly unknown[],
  targetOf: (reference: string) => unknown,
  pay: () => boolean,
): readonly Fields[] {
  const found = new Set<Fields>();
  const open = [...schemas];
  while (open.length > 0) {
    const part = open.pop();
    if (part === undefined) continue;
    if (!pay()) return [];
    if (!isFields(part) || found.has(part)) continue;
    found.add(part);
    const { $ref, allOf, anyOf, oneOf, if: condition, then, else: otherwise, dependentSchemas } = part;
    if (typeof $ref === "string") open.push(targetOf($ref));
    for (const list of [allOf, anyOf, oneOf]) if (Array.isArray(list)) open.push(...(list as unknown[]));
    open.push(condition, then, otherwise);
    if (isFields(dependentSchemas)) open.push(...Object.values(dependentSchemas));
  }
  return [...found];
}

function elementOf({ prefixItems, items }: Fields, index: number): unknown {
  return Array.isArray(prefixItems) && index < prefixItems.length ? prefixItems[index] : items;
}

function othersOf({ additionalProperties, patternProperties }: Fields): readonly unknown[] {
  return [additionalProperties, ...(isFields(patternProperties) ? Object.values(patternProperties) : [])];
}
