import { type JsonSchema, mapSchema, mapSchemas } from "./json-schema/json-schema.ts";
import type { Fields } from "../base/index.ts";

export function arraySchema(item: JsonSchema): JsonSchema {
  return outerSchema(item, "/items", (items) => ({ type: "array", items }));
}

/** The schema of an object with one field, whose value fits this schema. */
export function fieldSchema(name: string, value: JsonSchema): JsonSchema {
  const outer = (field: unknown) => ({
    type: "object",
    properties: { [name]: field },
    required: [name],
    additionalProperties: false,
  });
  return outerSchema(value, `/properties/${name}`, outer);
}

/**
 * A schema with another one in the place that a pointer leads to. Definitions move to the root, and each reference leads to the
 * same part as before.
 */
function outerSchema(inner: JsonSchema, place: string, outer: (inner: unknown) => JsonSchema): JsonSchema {
  const { $schema, $defs, definitions, ...own } = inner;
  const dialect = $schema === undefined ? {} : { $schema };
  // References within a schema with an `$id` lead to its own parts, wherever it stands.
  if (inner.$id !== undefined) return { ...dialect, ...outer(inner) };
  const move = (part: Fields) => (part.$id === undefined ? withReference(part, place) : undefined);
  return {
    ...dialect,
    ...outer(mapSchema(own, move)),
    ...($defs !== undefined && { $defs: mapSchemas($defs, move) }),
    ...(definitions !== undefined && { definitions: mapSchemas(definitions, move) }),
  };
}

function withReference(part: Fields, place: string): Fields {
  const { $ref } = part;
  const isMoved =
    typeof $ref === "string" && ($ref === "#" || ($ref.startsWith("#/") && !/^#\/(?:\$defs|definitions)\//.test($ref)));
  return isMoved ? { ...part, $ref: `#${place}${$ref.slice(1)}` } : part;
}
