/** A JSON Schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The part of a schema that a reference points to; undefined if there is none. */
export function resolveReference(root: JsonSchema, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let place: unknown = root;
  for (const key of pointerKeys(reference)) {
    if (typeof place !== "object" || place === null || !Object.hasOwn(place, key)) return undefined;
    place = (place as Record<string, unknown>)[key];
  }
  return place;
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
