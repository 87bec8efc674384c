/** A JSON Schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Words whose value is an object of schemas, by names that say nothing. */
export const SCHEMA_MAPS: ReadonlySet<string> = new Set(
  "properties patternProperties dependentSchemas dependencies $defs definitions".split(" "),
);
/** Words whose value is data, and no schema. */
export const DATA_WORDS: ReadonlySet<string> = new Set("const enum default examples required".split(" "));

/** The part of a schema that a reference points to; undefined if there is none. */
export function resolveReference(root: JsonSchema, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  return valueAt(root, pointerKeys(reference));
}

export function valueAt(root: unknown, keys: readonly PropertyKey[]): unknown {
  let value = root;
  for (const key of keys) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}

/** Keys of a JSON pointer in a URI fragment, like `#/a/0`. */
function pointerKeys(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => decoded(part).replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Decodes percent escapes; a part with invalid escapes stays as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
