import { isFields } from "../values/fields.ts";
import { DATA_WORDS, type JsonSchema, SCHEMA_MAPS } from "./json-schema/json-schema.ts";

/**
 * The schema of an array whose items fit this schema. Definitions move to the root, and each reference leads to the same
 * part as before.
 */
export function arraySchema(item: JsonSchema): JsonSchema {
  const { $schema, $defs, definitions, ...own } = item;
  const dialect = $schema === undefined ? {} : { $schema };
  // References within a schema with an `$id` lead to its own parts, wherever it stands.
  if (item.$id !== undefined) return { ...dialect, type: "array", items: item };
  return {
    ...dialect,
    type: "array",
    items: moved(own),
    ...($defs === undefined ? {} : { $defs: movedAll($defs) }),
    ...(definitions === undefined ? {} : { definitions: movedAll(definitions) }),
  };
}

function moved(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(moved);
  if (!isFields(schema) || schema.$id !== undefined) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([word, value]) => {
      if (word === "$ref" && typeof value === "string") return [word, movedReference(value)];
      if (DATA_WORDS.has(word)) return [word, value];
      return [word, SCHEMA_MAPS.has(word) ? movedAll(value) : moved(value)];
    }),
  );
}

function movedAll(schemas: unknown): unknown {
  if (!isFields(schemas)) return schemas;
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, moved(schema)]));
}

function movedReference(reference: string): string {
  const isOfItem = reference === "#" || (reference.startsWith("#/") && !/^#\/(?:\$defs|definitions)\//.test(reference));
  return isOfItem ? `#/items${reference.slice(1)}` : reference;
}
