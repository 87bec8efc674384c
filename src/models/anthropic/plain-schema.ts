import type { JsonSchema } from "../../tools/json-schema/json-schema.ts";
import { isFields } from "../../values/fields.ts";
import { type ClosedForm, closedSchema } from "../turn/closed-schema.ts";
import { hasCycle } from "./schema-cycle.ts";

const FORM: ClosedForm = {
  words: new Set(
    "type title description enum const anyOf $ref $defs definitions properties required additionalProperties items format default".split(
      " ",
    ),
  ),
  formats: new Set("date-time time date duration email hostname uri ipv4 ipv6 uuid".split(" ")),
};

/**
 * A schema to which Anthropic can hold a model: objects have named fields only, and nothing bounds a number or a
 * length. Undefined for a schema that cannot be expressed so. Every value that fits the result fits the original.
 */
export function plainSchema(schema: JsonSchema): JsonSchema | undefined {
  return schema.type === "object" && !hasCycle(schema) ? closedSchema(schema, FORM, "stay") : undefined;
}

/** Optional fields and alternatives of a schema. */
export function countOpen(schema: unknown): number {
  if (Array.isArray(schema)) return schema.reduce((sum: number, one) => sum + countOpen(one), 0);
  if (!isFields(schema)) return 0;
  const { properties, required, anyOf } = schema;
  const optional = isFields(properties)
    ? Object.keys(properties).length - (Array.isArray(required) ? required.length : 0)
    : 0;
  return Math.max(0, optional) + (Array.isArray(anyOf) ? 1 : 0) + countOpen(Object.values(schema));
}
