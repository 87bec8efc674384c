import type { JsonSchema } from "../../tools/json-schema/json-schema.ts";
import { type Fields, isFields, textOf } from "../../base/index.ts";

/** What a provider can hold a model to. `default` is removed from such a schema. */
export interface ClosedForm {
  readonly words: ReadonlySet<string>;
  readonly formats: ReadonlySet<string>;
}

/** What becomes of an optional field: it stays optional, may be null in place of being absent, or refuses the schema. */
export type OptionalFields = "stay" | "null" | "refused";

/** A schema whose objects have named fields only; undefined for a schema that the form cannot express. */
export function closedSchema(schema: JsonSchema, form: ClosedForm, optional: OptionalFields): JsonSchema | undefined {
  try {
    return close(schema, form, optional) as JsonSchema;
  } catch (error) {
    if (error instanceof NotClosed) return undefined;
    throw error;
  }
}

class NotClosed extends Error {}

function close(schema: unknown, form: ClosedForm, optional: OptionalFields): unknown {
  if (!isFields(schema) || !Object.keys(schema).every((word) => form.words.has(word))) throw new NotClosed();
  if ("format" in schema && !form.formats.has(textOf(schema, "format") ?? "")) throw new NotClosed();
  if ("$ref" in schema && !/^#\/(?:\$defs|definitions)\//.test(textOf(schema, "$ref") ?? "")) throw new NotClosed();
  const { default: _, ...rest } = schema;
  const closed: Record<string, unknown> = { ...rest };
  // Who reads the input finds nulls only if fields and lists alone lead to them.
  const inside = optional === "stay" ? "stay" : "refused";
  for (const word of ["$defs", "definitions"])
    if (isFields(schema[word])) closed[word] = mapFields(schema[word], (one) => close(one, form, inside));
  if (Array.isArray(schema.anyOf)) closed.anyOf = schema.anyOf.map((one) => close(one, form, inside));
  // A list of anything.
  if ([schema.type].flat().includes("array") && schema.items === undefined) throw new NotClosed();
  if (schema.items !== undefined) closed.items = close(schema.items, form, optional);
  if (schema.type !== "object" && !("properties" in schema)) return closed;
  // A record has no named fields.
  if (schema.type !== "object" || !isFields(schema.properties) || isFields(schema.additionalProperties))
    throw new NotClosed();
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  closed.properties = mapFields(schema.properties, (property, name) => {
    const field = close(property, form, optional);
    if (optional === "stay" || required.has(name)) return field;
    if (optional === "refused") throw new NotClosed();
    return { anyOf: [field, { type: "null" }] };
  });
  if (optional !== "stay") closed.required = Object.keys(schema.properties);
  closed.additionalProperties = false;
  return closed;
}

function mapFields(fields: Fields, map: (value: unknown, name: string) => unknown): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, map(value, name)]));
}
