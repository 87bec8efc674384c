import { type Fields, isFields } from "../../base/index.ts";

/** A JSON Schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Words whose value is an object of schemas, by names that say nothing. */
export const SCHEMA_MAPS: ReadonlySet<string> = new Set(
  "properties patternProperties dependentSchemas dependencies $defs definitions".split(" "),
);
/** Words whose value is a number. */
export const BOUNDS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minContains",
  "maxContains",
  "minProperties",
  "maxProperties",
] as const;
/** Words whose value is data, and no schema. */
export const DATA_WORDS: ReadonlySet<string> = new Set("const enum default examples required".split(" "));

/**
 * A copy of a schema in which `write` has written each part, the outer ones first. A part stays as it is, with all within it, if
 * `write` returns undefined. Works by recursion.
 */
export function mapSchema(part: unknown, write: (part: Fields) => Fields | undefined): unknown {
  if (Array.isArray(part)) return part.map((one) => mapSchema(one, write));
  if (!isFields(part)) return part;
  const written = write(part);
  if (!written) return part;
  const words = Object.entries(written).map(([word, value]) => {
    if (DATA_WORDS.has(word)) return [word, value];
    return [word, SCHEMA_MAPS.has(word) ? mapSchemas(value, write) : mapSchema(value, write)];
  });
  return Object.fromEntries(words);
}

/** Like `mapSchema`, for schemas by name. */
export function mapSchemas(schemas: unknown, write: (part: Fields) => Fields | undefined): unknown {
  if (!isFields(schemas)) return schemas;
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, mapSchema(schema, write)]));
}

/** Whether a part takes numbers and no texts: the digits of a whole number that no double holds are a number to it. */
export function takesNumbersAlone({ type }: Fields): boolean {
  const types = new Set<unknown>([type].flat());
  return !types.has("string") && (types.has("integer") || types.has("number"));
}

/** Whether a part says that it takes texts. Digits among the values of a part that takes numbers alone are no texts. */
export function takesText(part: Fields): boolean {
  const { type, const: only, enum: some } = part;
  if (takesNumbersAlone(part)) return false;
  return [type].flat().includes("string") || [[only], some].flat().some((value) => typeof value === "string");
}

/** The part of a schema that a reference points to; undefined if there is none. */
export function resolveReference(root: JsonSchema, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  return valueAt(root, reference.split("/").slice(1).map(pointerKey));
}

export function valueAt(root: unknown, keys: readonly PropertyKey[]): unknown {
  let value = root;
  for (const key of keys) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}

/** The key that a part of a JSON pointer in a URI fragment, like `#/a/0`, stands for. */
export function pointerKey(part: string): string {
  return decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Decodes percent escapes; a part with invalid escapes stays as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
