import type { JsonSchema } from "../../tools/json-schema/index.ts";
import { lazySchema } from "../../tools/schema.ts";
import { fieldOf, type Fields, isFields } from "../../base/index.ts";
import { type OpenApiDocument, PartFault } from "./document.ts";
import { formOf, jsonRank } from "./operations.ts";
import type { ConvertedSchema, Schemas } from "./schemas.ts";

const BYTES_SCHEMA: JsonSchema = Object.freeze({
  type: "object",
  description: "Bytes that are no text.",
  properties: { mediaType: { type: "string" }, base64: { type: "string" } },
  required: ["mediaType", "base64"],
});

const NULL: JsonSchema = Object.freeze({ type: "null" });
const TEXT: JsonSchema = Object.freeze({ type: "string" });

/**
 * The schema of an operation's result, by its answers of success, and the header `accept`. Without `checks` the schema is
 * shown and any value fits. It is undefined if the document does not describe the result.
 */
export function toolOutput(schemas: Schemas, responses: Fields, method: string, checks: boolean) {
  const { document } = schemas;
  const successes = document.once(responses, successesOf).map(({ status, response }) => ({
    isEmpty: status === "204" || status === "205",
    content: fieldOf(schemas.followed(response), "content"),
  }));
  const mediaTypes = [...new Set(successes.flatMap(({ content }) => document.once(content, bestOf)))];
  const essences = mediaTypes
    .map((type) => type.split(";", 1)[0]!.trim())
    .filter((type) => /^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+$/.test(type));
  const accept = essences.join(", ") || "*/*";
  if (method === "HEAD") return { schema: lazySchema(() => NULL, { checks }), accept, asPart: true };
  const parts: ConvertedSchema[] = [];
  const described = successes.map(({ isEmpty, content }): JsonSchema | boolean | undefined => {
    const [mediaType] = isEmpty ? [] : document.once(content, bestOf);
    if (mediaType === undefined) return NULL;
    const form = formOf(mediaType);
    if (form !== "json") return form === "bytes" ? BYTES_SCHEMA : TEXT;
    const schema = fieldOf(schemas.followed(fieldOf(content, mediaType)), "schema");
    if (schema === undefined) return undefined;
    const converted = schemas.convert(schema);
    parts.push(converted);
    return converted.schema;
  });
  const alternatives = new Set(described);
  const isPartial = alternatives.delete(undefined);
  const [first, ...others] = alternatives;
  const whole = others.length === 0 ? first : { anyOf: [...alternatives] };
  // Where no answer has a content, a document may just not tell.
  const isSilent = whole === NULL && successes.some(({ isEmpty }) => !isEmpty);
  if (isSilent || typeof whole !== "object") return { schema: undefined, accept, asPart: true };
  if (isPartial) schemas.addOdd(new PartFault("the document does not describe one of its answers"));
  const isChecked = checks && !isPartial;
  // A declared schema of results that is checked requires the base64.
  return { schema: schemas.close(whole, parts, isChecked), accept, asPart: !isChecked };
}

/** The answers that mean success: of status 2xx, or `default` without any. */
function successesOf(_: OpenApiDocument, responses: Fields) {
  const named = Object.keys(responses).filter((status) => /^2(?:\d\d|xx)$/i.test(status));
  const statuses = named.length === 0 && Object.hasOwn(responses, "default") ? ["default"] : named;
  return statuses.map((status) => ({ status, response: responses[status] }));
}

/** JSON if an answer can be JSON, else the first media type. */
function bestOf(_: OpenApiDocument, content: unknown): readonly string[] {
  const mediaTypes = isFields(content) ? Object.keys(content) : [];
  const json = mediaTypes.filter((type) => formOf(type) === "json");
  return [...json.toSorted((one, other) => jsonRank(one) - jsonRank(other)), ...mediaTypes].slice(0, 1);
}
