import type { JsonSchema } from "../../tools/json-schema/index.ts";
import type { Schema } from "../../tools/schema.ts";
import { follow, followQuietly, type OpenApiDocument, PartFault, target } from "./document.ts";
import { fieldOf, type Fields, isFields, textOf } from "../../base/index.ts";
import { commentLine } from "../../tools/declarations/one-line.ts";
import { type Body, filesOf, type OperationParts, type Parameter, requiresFields, SHAPES } from "./operations.ts";
import type { ConvertedSchema, Schemas } from "./schemas.ts";
import { isHeaderName } from "../request-text.ts";

/**
 * Whether the fields of bodies stand beside the parameters or in a field `body`. It is the same for all operations of a
 * document, so that a model need not look for each.
 */
export type Layout = "flat" | "nested";

export interface ParameterField {
  readonly field: string;
  readonly parameter: Parameter;
}

/** The input of a tool, and which of its fields are which parts of a request. */
export interface OperationInput {
  readonly schema: Schema;
  readonly parameters: readonly ParameterField[];
  readonly body: BodyFields | undefined;
}

export interface BodyFields {
  readonly body: Body;
  readonly isFlat: boolean;
  readonly names: ReadonlySet<string>;
  readonly files: ReadonlySet<string>;
}

const BODY = "body";
/** Characters of names that a description tells. The schemas of many operations may have them. */
const NAMES_LENGTH = 1000;

/**
 * Headers that a document cannot give away to programs. OpenAPI ignores the first three; the others steer the request, or
 * say to a server who sent it and what for.
 */
const HOST_HEADERS =
  /^(?:accept|content-type|authorization|host|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect|cookie|date|origin|referer|via|forwarded|x-forwarded-.*|x-real-ip|x-original-.*|x-rewrite-.*|x-http-method.*|x-method-override|proxy-.*|sec-.*)$/i;

/** The parameters that programs give. Throws a `PartFault` if the operation requires a header that programs may not set. */
export function programParameters(parameters: readonly Parameter[], isHosts: (parameter: Parameter) => boolean) {
  return parameters.filter((parameter) => {
    const { name, place, required } = parameter;
    if (name === "__proto__") throw new PartFault("it has a parameter named __proto__");
    if (isHosts(parameter)) return false;
    if (place !== "header") return true;
    if (!isHeaderName(name)) throw new PartFault("it has a header whose name no request can have");
    const isHost = HOST_HEADERS.test(name);
    if (isHost && required && !/^(?:accept|content-type|authorization)$/i.test(name))
      throw new PartFault(`it needs the header ${name}, which only \`headers\` of the source may set`);
    return !isHost;
  });
}

/** Whether the fields of an operation's body can stand beside its parameters, and be required there as they are in it. */
export function isFlat(document: OpenApiDocument, { parameters, body }: OperationParts): boolean {
  if (!body) return true;
  if (!body.required && document.once(followQuietly(document, body.schema), requiresFields)) return false;
  const properties = plainProperties(document, body);
  return properties !== undefined && parameters.every(({ name }) => !Object.hasOwn(properties, name));
}

/** The properties of a body that is an object with named fields and nothing else; undefined for any other. */
function plainProperties(document: OpenApiDocument, { form, schema }: Body): Fields | undefined {
  if (form === "text" || form === "bytes") return undefined;
  const followed = followQuietly(document, schema);
  const properties = fieldOf(followed, "properties");
  if (!isFields(followed) || !isFields(properties)) return undefined;
  const { additionalProperties = false } = followed;
  const isObject = followed.type === undefined || followed.type === "object";
  const has = (word: string) => Object.hasOwn(followed, word) && followed[word] !== false;
  return isObject && additionalProperties === false && !OTHER_WORDS.some(has) ? properties : undefined;
}

const OTHER_WORDS = "anyOf oneOf allOf not if patternProperties nullable x-nullable enum".split(" ");

/** The input of an operation's tool. Throws a `PartFault` if its schemas cannot be used. */
export function toolInput(schemas: Schemas, inputs: readonly Parameter[], body: Body | undefined, layout: Layout) {
  const { document } = schemas;
  const parameters = fieldsOf(inputs, body !== undefined && layout === "nested");
  // Within them a reference that leads nowhere costs its part alone.
  for (const { schema } of [...inputs, ...(body ? [body] : [])]) {
    const reference = textOf(schema, "$ref");
    if (reference !== undefined) document.once(reference, target);
  }
  const converted = parameters.map(({ parameter }) => schemas.convert(parameter.schema));
  const fields = parameters.map(({ field, parameter }, index) => [
    field,
    described(converted[index]!.schema, parameter.description),
  ]);
  const required = parameters.filter(({ parameter }) => parameter.required).map(({ field }) => field);
  const fieldNames = new Set(parameters.map(({ field }) => field));
  const bodyPart = body ? bodyInput(schemas, body, layout, fieldNames) : undefined;
  const properties = Object.freeze(Object.fromEntries([...fields, ...(bodyPart?.fields ?? [])]));
  const allRequired = [...required, ...(bodyPart?.required ?? [])];
  const root = {
    type: "object",
    properties,
    ...(allRequired.length > 0 && { required: allRequired }),
    additionalProperties: false,
  };
  return {
    schema: schemas.close(described(root, bodyPart?.place.isFlat ? body?.description : undefined) as JsonSchema, [
      ...converted,
      ...(bodyPart?.parts ?? []),
    ]),
    parameters,
    body: bodyPart?.place,
  };
}

/** Parameters that share a name have their place in front: `path_id` and `query_id`. */
function fieldsOf(parameters: readonly Parameter[], hasBody: boolean): readonly ParameterField[] {
  const count = new Map<string, number>(hasBody ? [[BODY, 1]] : []);
  for (const { name } of parameters) count.set(name, (count.get(name) ?? 0) + 1);
  const fields = parameters.map((parameter) => ({
    field: count.get(parameter.name) === 1 ? parameter.name : `${parameter.place}_${parameter.name}`,
    parameter,
  }));
  if (new Set(fields.map(({ field }) => field)).size < fields.length)
    throw new PartFault("the names of its parameters collide");
  return fields;
}

function bodyInput(schemas: Schemas, body: Body, layout: Layout, fieldNames: ReadonlySet<string>) {
  const { document } = schemas;
  const files = new Set(body.form === "multipart" ? filesOf(document, body) : []);
  const apart = (
    schema: JsonSchema | boolean,
    parts: readonly ConvertedSchema[],
    note: string,
    names = new Set<string>(),
  ) => ({
    fields: [[BODY, described(schema, [body.description, note].filter(Boolean).join(" "))] as const],
    required: body.required ? [BODY] : [],
    parts,
    place: { body, isFlat: false, names, files },
  });
  if (body.form === "text" || body.form === "bytes")
    return apart({ type: "string" }, [], body.form === "text" ? `${body.mediaType}.` : `${body.mediaType}, in base64.`);
  const properties = plainProperties(document, body);
  if (!properties || (layout === "nested" && files.size === 0)) {
    const converted = schemas.convert(body.schema);
    const note = files.size > 0 ? `Files, in base64: ${commentLine([...files].join(", "), NAMES_LENGTH)}.` : "";
    const names = properties && body.form === "urlencoded" ? document.once(properties, namesIn) : undefined;
    return apart(converted.schema, [converted], note, names);
  }
  const converted = schemas.convert(follow(document, body.schema));
  const { properties: own = {}, required: all = [] } = converted.schema as {
    readonly properties?: Readonly<Record<string, JsonSchema | boolean>>;
    readonly required?: readonly string[];
  };
  document.count({ fields: Object.keys(own).length + all.length });
  const required = all.filter((name) => Object.hasOwn(own, name) || !fieldNames.has(name));
  const fields = [
    ...Object.entries(own).map(([name, field]) => [name, files.has(name) ? fileSchema(field) : field] as const),
    // A server may require what its document does not describe. Beside the properties it could not be given.
    ...required.filter((name) => !Object.hasOwn(own, name)).map((name) => [name, true] as const),
  ];
  if (layout === "nested") {
    const nested = { ...(converted.schema as JsonSchema), properties: Object.freeze(Object.fromEntries(fields)) };
    return apart(nested, [converted], "");
  }
  const place = { body, isFlat: true, names: new Set(fields.map(([name]) => name)), files };
  return { fields, required, parts: [converted], place };
}

function namesIn(_: OpenApiDocument, properties: Fields): Set<string> {
  return new Set(Object.keys(properties));
}

function fileSchema(schema: JsonSchema | boolean): JsonSchema | boolean {
  const field = typeof schema === "boolean" ? {} : schema;
  const type = SHAPES.some((word) => Object.hasOwn(field, word)) ? {} : { type: "string" };
  return described({ ...field, ...type }, [field.description, "A file, in base64."].filter(Boolean).join(" "));
}

function described(schema: JsonSchema | boolean, description: string | undefined): JsonSchema | boolean {
  if (description === undefined || description === "" || schema === false) return schema;
  return Object.freeze({ ...(schema === true ? {} : schema), description });
}
