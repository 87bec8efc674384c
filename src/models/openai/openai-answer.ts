import type { JsonSchema } from "../../tools/json-schema/json-schema.ts";
import type { Fields } from "../../values/fields.ts";
import { exactSchema } from "./openai-strict-schema.ts";

/** The form of an answer for OpenAI, strict if the schema allows it; undefined for an answer that is no object. */
export function answerFormat(schema: JsonSchema): Fields | undefined {
  if (schema.type !== "object") return undefined;
  const exact = exactSchema(schema);
  return { name: "answer", schema: exact ?? schema, strict: exact !== undefined };
}
