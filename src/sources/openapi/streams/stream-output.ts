import type { JsonSchema } from "../../../tools/json-schema/json-schema.ts";
import type { Schema } from "../../../tools/schema.ts";
import { fieldOf, type Fields, isFields, listOf, textOf } from "../../../values/fields.ts";
import { follow, type OpenApiDocument, orFault, PartFault } from "../document.ts";
import { formOf } from "../operations.ts";
import type { Converted, Schemas } from "../schemas.ts";
import { type Answers, isMediaType, successesOf } from "../tool-output.ts";
import { keysOf } from "./pagination.ts";
import { type StreamForm, streamFormOf } from "./stream-form.ts";

export interface StreamOutput {
  readonly form: StreamForm;
  readonly accept: string;
  /** Schema of one item; undefined if the document does not say. */
  readonly schema: Schema | undefined;
}

/**
 * How an operation streams: if its policy says so (`wanted`), or by default if its answers of success are streams and
 * nothing else. Undefined for an operation that does not. Throws a `PartFault` if it is to stream and cannot.
 */
export function streamOutput(
  schemas: Schemas,
  { responses, method }: Answers,
  { wanted, checks }: { readonly wanted: boolean | undefined; readonly checks: boolean },
): StreamOutput | undefined {
  if (wanted === false) return undefined;
  const contents = method === "HEAD" ? [] : contentsOf(schemas.document, responses);
  const streams = contents.flatMap((content) => streamIn(content) ?? []);
  const isOnly = streams.length === contents.length && !contents.some(offersJson);
  const [first] = streams;
  if (wanted && !first)
    throw new PartFault("its policy says `stream`, and none of its answers is described as a stream");
  if (!first || (!wanted && !isOnly)) return undefined;
  const { form, mediaType } = first;
  const schema = streams.length === 1 ? itemSchema(schemas, first, checks) : undefined;
  return { form, accept: mediaType.split(";", 1)[0]!.trim(), schema };
}

/** Contents of the answers of success that have one. */
function contentsOf(document: OpenApiDocument, responses: Fields): readonly Fields[] {
  return successesOf(responses)
    .map(({ response }) => fieldOf(follow(document, response), "content"))
    .filter((content) => isFields(content) && Object.keys(content).length > 0) as readonly Fields[];
}

interface StreamPart {
  readonly form: StreamForm;
  readonly mediaType: string;
  readonly media: unknown;
}

function streamIn(content: Fields): StreamPart | undefined {
  for (const [mediaType, media] of Object.entries(content)) {
    const form = streamFormOf(mediaType);
    if (form && isMediaType(mediaType.split(";", 1)[0]!.trim())) return { form, mediaType, media };
  }
  return undefined;
}

function offersJson(content: Fields): boolean {
  return Object.keys(content).some((mediaType) => formOf(mediaType) === "json");
}

function itemSchema(schemas: Schemas, { form, media: part }: StreamPart, checks: boolean): Schema | undefined {
  const { document } = schemas;
  const media = follow(document, part);
  const declared = fieldOf(media, "itemSchema");
  const whole = fieldOf(media, "schema");
  if (form === "events") return eventSchema(schemas, declared, whole, checks);
  const item = declared ?? itemOf(document, whole);
  if (item === undefined) return undefined;
  const converted = schemas.convert(item);
  return typeof converted.schema === "boolean" ? undefined : schemas.close(converted.schema, [converted], checks);
}

/** The part of the schema of a whole answer that speaks of one item; undefined if that is not known. */
function itemOf(document: OpenApiDocument, whole: unknown): unknown {
  const followed = follow(document, whole);
  const type = fieldOf(followed, "type");
  // Since 3.2 a list stands for all items. Before, some documents mean one item by it.
  if (type === "array")
    return textOf(document.root, "openapi")?.startsWith("3.2") ? fieldOf(followed, "items") : undefined;
  return followed === undefined || type === "string" ? undefined : whole;
}

const TEXT: JsonSchema = Object.freeze({ type: "string" });
const EVENT_FIELDS: ReadonlySet<string> = new Set(["event", "id", "data", "retry"]);

/** The schema of events: of each kind that the document tells apart, or of the data of all. */
function eventSchema(schemas: Schemas, declared: unknown, whole: unknown, checks: boolean): Schema {
  const { document } = schemas;
  const described = follow(document, declared ?? whole);
  if (declared === undefined && !isEvent(described)) {
    const item = itemOf(document, whole);
    const converted = item === undefined ? undefined : schemas.convert(item);
    // Many servers mark the end by a text.
    const data = converted && { anyOf: [converted.schema, TEXT] };
    return schemas.close(eventOf({ event: TEXT, data, required: [] }), converted ? [converted] : [], checks);
  }
  const parts: Converted[] = [];
  const kinds = kindsOf(document, described).map(({ properties, required }) => {
    const data = dataOf(document, properties.data);
    const converted = data === undefined ? undefined : schemas.convert(data);
    if (converted) parts.push(converted);
    return eventOf({ event: nameOf(document, properties.event), data: converted?.schema, required });
  });
  const [first, ...others] = kinds;
  return schemas.close(first && others.length === 0 ? first : { anyOf: kinds }, parts, checks);
}

/** Whether a schema describes an event, and not its data. */
function isEvent(schema: unknown): boolean {
  const properties = fieldOf(schema, "properties");
  const names = isFields(properties) ? Object.keys(properties) : [];
  return names.includes("data") && names.every((name) => EVENT_FIELDS.has(name));
}

interface EventKind {
  readonly properties: Fields;
  readonly required: readonly unknown[];
}

/** The kinds of events that a schema tells apart; the schema itself if it does not. */
function kindsOf(document: OpenApiDocument, schema: unknown): readonly EventKind[] {
  const choices = [...listOf(schema, "oneOf"), ...listOf(schema, "anyOf")].map((choice) => follow(document, choice));
  return (choices.length === 0 ? [schema] : choices).map((choice) => {
    const [common, own] = [fieldOf(schema, "properties"), fieldOf(choice, "properties")];
    return {
      properties: { ...(isFields(common) ? common : {}), ...(isFields(own) ? own : {}) },
      required: [...listOf(schema, "required"), ...listOf(choice, "required")],
    };
  });
}

/** The schema of the data as they are read; undefined if it is not known. A text may hold JSON of any kind. */
function dataOf(document: OpenApiDocument, schema: unknown): unknown {
  const followed = follow(document, schema);
  const content = fieldOf(followed, "contentSchema");
  if (content !== undefined) return content;
  const type = fieldOf(followed, "type");
  return typeof type !== "string" || type === "string" ? undefined : schema;
}

function nameOf(document: OpenApiDocument, schema: unknown): JsonSchema {
  const followed = follow(document, schema);
  const only = textOf(followed, "const");
  const names = only === undefined ? listOf(followed, "enum").filter((name) => typeof name === "string") : [only];
  return names.length === 0 ? TEXT : { type: "string", enum: names };
}

function eventOf(kind: {
  readonly event: JsonSchema;
  readonly data: JsonSchema | boolean | undefined;
  readonly required: readonly unknown[];
}): JsonSchema {
  const { event, data = true, required } = kind;
  return {
    type: "object",
    properties: { event, id: TEXT, data },
    required: ["event", "data"].filter((name) => name === "data" || required.includes(name)),
  };
}

/**
 * The schema of an item of the list that stands at a pointer in an operation's answers; undefined if the document does
 * not say. Throws a `PartFault` if it says that something else stands there.
 */
export function listOutput(
  schemas: Schemas,
  { responses }: Answers,
  { pointer, checks }: { readonly pointer: string; readonly checks: boolean },
): Schema | undefined {
  const { document } = schemas;
  const wholes = contentsOf(document, responses).flatMap((content) => {
    const media = Object.entries(content).find(([mediaType]) => formOf(mediaType) === "json")?.[1];
    const whole = fieldOf(follow(document, media), "schema");
    return whole === undefined ? [] : [whole];
  });
  if (wholes.length !== 1) return undefined;
  let schema = wholes[0];
  for (const key of keysOf(pointer)) schema = propertyOf(document, schema, key);
  const list = follow(document, schema);
  const type = fieldOf(list, "type");
  if (typeof type === "string" && type !== "array")
    throw new PartFault(
      `its policy says that its answers have a list ${pointer === "" ? "as their value" : `at ${JSON.stringify(pointer)}`}, and its document that this is of the type ${JSON.stringify(type.slice(0, 20))}`,
    );
  const items = fieldOf(list, "items");
  if (items === undefined) return undefined;
  const converted = schemas.convert(items);
  return typeof converted.schema === "boolean" ? undefined : schemas.close(converted.schema, [converted], checks);
}

/** The schema of a field, also if a part of the schema has it. Parts may be shared, and lead in a circle. */
function propertyOf(document: OpenApiDocument, schema: unknown, name: string): unknown {
  const parts = new Set([schema]);
  for (const part of parts) {
    const followed = orFault(() => follow(document, part));
    const property = fieldOf(fieldOf(followed, "properties"), name);
    if (property !== undefined) return property;
    // A loop over a set also reaches what is added meanwhile.
    for (const inner of listOf(followed, "allOf")) parts.add(inner);
  }
  return undefined;
}
