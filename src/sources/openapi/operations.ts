import {
  follow,
  followQuietly,
  isMarked,
  NAME_LENGTH,
  type OpenApiDocument,
  orFault,
  PartFault,
  quoted,
  shortName,
} from "./document.ts";
import { fieldOf, type Fields, isFields, listOf, Pace, textOf } from "../../base/index.ts";
import { operationNames } from "./operation-name.ts";

const METHODS = "get put post delete options head patch query trace".split(" ");
const UNSENT: ReadonlySet<string> = new Set(["TRACE", "CONNECT", "TRACK"]);

/** Maximum operations of a document. The largest public documents have some 20,000. */
export const MAX_OPERATIONS = 50_000;

export type ParameterPlace = "path" | "query" | "header" | "cookie";

export type Style = "form" | "simple" | "label" | "matrix" | "spaceDelimited" | "pipeDelimited" | "deepObject";
const STYLES: Readonly<Record<ParameterPlace, readonly Style[]>> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
  cookie: ["form"],
};

export interface Serialisation {
  readonly style: Style;
  readonly explode: boolean;
  /** Whether characters like `/` and `:` stay as they are. */
  readonly allowReserved: boolean;
}

export interface Parameter {
  readonly name: string;
  readonly place: ParameterPlace;
  readonly required: boolean;
  readonly description: string | undefined;
  readonly schema: unknown;
  /** Undefined for a parameter whose value is sent as JSON. */
  readonly serialisation: Serialisation | undefined;
}

export type BodyForm = "json" | "urlencoded" | "multipart" | "text" | "bytes";

export interface Body {
  readonly mediaType: string;
  readonly form: BodyForm;
  /** As the document says. Where it says nothing, a body whose schema requires fields is required. */
  readonly required: boolean;
  readonly description: string | undefined;
  readonly schema: unknown;
  readonly encoding: unknown;
  /** Files that only the form beside it can have. */
  readonly lostFiles: readonly string[];
}

/** What a policy is chosen by. */
export interface Operation {
  readonly operationId: string | undefined;
  /** In capitals, like `GET`. */
  readonly method: string;
  /** With its parameters in braces, like `/repos/{owner}/{repo}`. */
  readonly path: string;
  readonly tags: readonly string[];
}

/** An operation of the document, before its parts are read. */
export interface FoundOperation extends Operation {
  readonly name: string;
  /** What its reference leads to, or why it leads nowhere. */
  readonly part: Fields | PartFault;
  readonly shared: unknown;
  /** Addresses that the document has for it alone, or for its path. */
  readonly servers: readonly string[];
}

export interface OperationParts {
  readonly address: Address;
  readonly parameters: readonly Parameter[];
  readonly body: Body | undefined;
  readonly responses: Fields;
}

/** A path without what documents tell the operations of one path apart by, and the query that is part of it. */
interface Address {
  readonly path: string;
  readonly query: string;
}

/** All operations of a document, at most `MAX_OPERATIONS` and another. */
export async function findOperations(document: OpenApiDocument, source: string) {
  const pace = new Pace();
  const operations: Omit<FoundOperation, "name">[] = [];
  /** Paths whose operations are not known, each with the reason. */
  const unread: { readonly path: string; readonly fault: PartFault }[] = [];
  const paths = fieldOf(document.root, "paths");
  for (const [path, item] of Object.entries(isFields(paths) ? paths : {})) {
    await pace.rest();
    const followed = orFault(() => follow(document, item));
    if (followed instanceof PartFault) unread.push({ path, fault: followed });
    // What stands beside a reference counts too.
    const led = isFields(followed) && !(followed instanceof PartFault) ? followed : {};
    const items = [item, led].map((one) => document.once(one, readPathItem));
    const shared = items.find(({ parameters }) => parameters !== undefined)?.parameters;
    for (const [method, operation] of operationsIn([item, led])) {
      const details = document.once(operation, readSaid);
      if (!details) continue;
      const servers = [details, ...items].find((one) => one.servers.length > 0)?.servers ?? [];
      operations.push({ ...details, method, path, shared, servers });
    }
    if (operations.length > MAX_OPERATIONS) break;
  }
  const names = await operationNames(operations, source, pace);
  return { operations: operations.map((one, index) => ({ name: names[index]!, ...one })), unread };
}

/** What stands under each method, in any case. Version 3.2 has a place for all other methods. */
function operationsIn(items: readonly unknown[]): Iterable<readonly [method: string, operation: unknown]> {
  const found = new Map<string, unknown>();
  const add = (name: string, operation: unknown) => {
    const method = name.toUpperCase();
    found.set(method, found.get(method) ?? operation);
  };
  for (const item of items) {
    for (const name of METHODS) add(name, fieldOf(item, name) ?? fieldOf(item, name.toUpperCase()));
    const others = fieldOf(item, "additionalOperations");
    for (const [name, operation] of Object.entries(isFields(others) ? others : {}))
      if (/^[A-Za-z-]{1,40}$/.test(name)) add(name, operation);
  }
  return found;
}

function readPathItem(_: OpenApiDocument, item: unknown) {
  return { parameters: fieldOf(item, "parameters"), servers: serversOf(item) };
}

/** What is told of an operation, wherever it is; undefined if there is none. */
function readSaid(document: OpenApiDocument, reference: unknown) {
  const part = orFault(() => follow(document, reference));
  if (!isFields(part)) return undefined;
  const tags = listOf(part, "tags").filter((tag) => typeof tag === "string");
  return { operationId: textOf(part, "operationId"), tags, part, servers: serversOf(part) };
}

export function serversOf(part: unknown): readonly string[] {
  return listOf(part, "servers").flatMap((server) => textOf(server, "url")?.slice(0, NAME_LENGTH) ?? []);
}

/** Reads the parts of an operation. Throws a `PartFault` for an operation that cannot be called. */
export function readOperation(document: OpenApiDocument, { part, shared, method, path }: FoundOperation) {
  if (part instanceof PartFault) throw part;
  if (UNSENT.has(method)) throw new PartFault(`its method is ${method}, which no request can be sent with`);
  const lists = [shared, part["parameters"]].map((list) => document.once(list, readParameters));
  document.count({ parameters: lists.reduce((sum, { length }) => sum + length, 0) });
  // A parameter of the operation replaces the parameter of its path with the same name and place.
  const read = new Map(lists.flat().map((parameter) => [`${parameter.place} ${parameter.name}`, parameter]));
  const all = [...read.values()];
  const { address, parameters } = addressOf(withBraces(path, all), all);
  const inPath = variablesOf(address);
  const described = namesIn(parameters, "path");
  const responses = fieldOf(part, "responses");
  return {
    address,
    parameters: [
      ...parameters.filter(({ name, place }) => place !== "path" || inPath.has(name)),
      ...[...inPath].filter((name) => !described.has(name)).map((name) => parameterOf(UNDESCRIBED, name, "path")),
    ],
    body: bodyOf(document, fieldOf(part, "requestBody"), method),
    responses: isFields(responses) ? responses : {},
  };
}

function namesIn(parameters: readonly Parameter[], where: ParameterPlace): Set<string> {
  return new Set(parameters.filter(({ place }) => place === where).map(({ name }) => name));
}

/** A path as documents write it, and not as frameworks do: `/users/:id`. A colon before another name is a part of the path. */
function withBraces(path: string, parameters: readonly Parameter[]): string {
  const names = namesIn(parameters, "path");
  for (const name of variablesOf({ path, query: "" })) names.delete(name);
  const write = (all: string, name: string) => (names.has(name) ? `/{${name}}` : all);
  return path.replaceAll(/\/:(\w{1,100})(?=\/|$)/g, write);
}

const UNDESCRIBED: Fields = { schema: { type: "string" } };

/**
 * Where a request goes: a fragment stays away, and a query is sent as it is. Of a parameter that it gives a value, it is the only
 * one; where it only names a parameter (`q={q}`, `{?q}`), the parameter is sent by itself. Throws a `PartFault` for an invalid path.
 */
function addressOf(written: string, allParameters: readonly Parameter[]) {
  const [plain] = shortName(written)
    .replaceAll(/\{[?&#][^{}]*\}/g, "")
    .split("#", 1);
  const [path, ...query] = plain!.split("?") as [string, ...string[]];
  if (!path.startsWith("/") || path.includes("\\"))
    throw new PartFault(`its path ${quoted(written, 200)} is not one: a path begins with / and has no \\`);
  const nameOf = (one: string) => one.split("=", 1)[0]!;
  const described = namesIn(allParameters, "query");
  const parts = query.join("?").split("&");
  const fixed = parts.filter((one) => one !== "" && !(one.includes("{") && described.has(nameOf(one))));
  const names = new Set(fixed.map(nameOf));
  const parameters = allParameters.filter(({ place, name }) => place !== "query" || !names.has(name));
  return { address: { path, query: fixed.join("&") }, parameters };
}

function variablesOf({ path, query }: Address): ReadonlySet<string> {
  return new Set([...`${path}?${query}`.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => name!));
}

function readParameters(document: OpenApiDocument, list: unknown): readonly Parameter[] {
  if (!Array.isArray(list)) return [];
  return list.map((reference: unknown) => document.once(follow(document, reference), readParameter));
}

function readParameter(_: OpenApiDocument, part: unknown): Parameter {
  const name = textOf(part, "name");
  const place = fieldOf(part, "in");
  if (!isFields(part) || name === undefined || name === "") throw new PartFault("it has a parameter without a name");
  if (typeof place !== "string" || !Object.hasOwn(STYLES, place))
    throw new PartFault(`its parameter ${quoted(name)} is in no place that a request has`);
  return parameterOf(part, shortName(name), place as ParameterPlace);
}

function parameterOf(part: Fields, name: string, place: ParameterPlace): Parameter {
  const content = fieldOf(part, "content");
  const [media] = isFields(content) ? Object.values(content) : [];
  return {
    name,
    place,
    required: place === "path" || fieldOf(part, "required") === true,
    description: textOf(part, "description"),
    schema: (media === undefined ? fieldOf(part, "schema") : fieldOf(media, "schema")) ?? {},
    serialisation: media === undefined ? serialisationOf(part, place, name) : undefined,
  };
}

/** How a part's value is written: as the part says, or by default. */
export function serialisationOf(part: unknown, place: ParameterPlace, name: string): Serialisation {
  const [usual] = STYLES[place];
  const style = fieldOf(part, "style") ?? usual;
  if (!STYLES[place].includes(style as Style)) throw new PartFault(`${quoted(name)} has a style that no ${place} has`);
  const explode = fieldOf(part, "explode");
  return {
    style: style as Style,
    explode: typeof explode === "boolean" ? explode : style === "form",
    allowReserved: fieldOf(part, "allowReserved") === true && place === "query",
  };
}

function bodyOf(document: OpenApiDocument, reference: unknown, method: string): Body | undefined {
  const part = follow(document, reference);
  const content = fieldOf(part, "content");
  if (!isFields(part) || !isFields(content)) return undefined;
  if (method === "GET" || method === "HEAD") {
    if (part["required"] === true) throw new PartFault(`it needs a body, which no ${method} request can have`);
    return undefined;
  }
  return document.once(part, readBody);
}

function readBody(document: OpenApiDocument, part: Fields): Body | undefined {
  const content = part["content"] as Fields;
  const [chosen] = Object.keys(content)
    .map((mediaType) => ({ mediaType, form: formOf(mediaType), rank: jsonRank(mediaType) }))
    .toSorted((one, other) => FORMS.indexOf(one.form) - FORMS.indexOf(other.form) || one.rank - other.rank);
  if (!chosen) return undefined;
  if (!/^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+(?:;[\x20-\x7e]*)?$/.test(chosen.mediaType))
    throw new PartFault(`its body has the media type ${quoted(chosen.mediaType)}, which is none`);
  const media = content[chosen.mediaType];
  const schema = fieldOf(media, "schema") ?? {};
  const { required } = part;
  return {
    form: chosen.form,
    mediaType: chosen.mediaType.includes("*") ? STAND_INS[chosen.form] : chosen.mediaType,
    required: typeof required === "boolean" ? required : document.once(followQuietly(document, schema), requiresFields),
    description: textOf(part, "description"),
    schema,
    encoding: fieldOf(media, "encoding"),
    lostFiles:
      chosen.form === "multipart" ? [] : filesOf(document, content["multipart/form-data"]).slice(0, FILES_TOLD),
  };
}

/** The fields that the schema of a media type describes, without what is within them. */
function describedFields(document: OpenApiDocument, media: unknown): ReadonlyMap<string, unknown> {
  const parts = partsOf(document, fieldOf(media, "schema"));
  const properties = parts.map((part) => followQuietly(document, fieldOf(part, "properties")));
  const fields = new Map(properties.flatMap((one) => (isFields(one) ? Object.entries(one) : [])));
  document.count({ fields: fields.size });
  return fields;
}

/** A schema, and what its words, like `anyOf`, lead to. */
function partsOf(document: OpenApiDocument, schema: unknown, words = ["allOf", "anyOf", "oneOf"]): readonly unknown[] {
  const parts = new Set([followQuietly(document, schema)]);
  // A loop over a set also reaches what is added meanwhile.
  for (const part of parts) {
    const inner = words.flatMap((word) => fieldOf(part, word) ?? []);
    document.count({ fields: inner.length });
    for (const one of inner) parts.add(followQuietly(document, one));
  }
  return [...parts];
}

/** Whether a field of a form, or each value of its list, may be bytes. */
function isFile(document: OpenApiDocument, field: unknown): boolean {
  return partsOf(document, field, ["allOf", "anyOf", "oneOf", "items"]).some((part) => {
    const encoding = fieldOf(part, "contentEncoding");
    const isOwn = encoding === undefined && isBytes(textOf(part, "contentMediaType"));
    return isOwn || encoding === "binary" || fieldOf(part, "format") === "binary";
  });
}

const FILES_TOLD = 20;

/** What says of which values a schema is. */
export const SHAPES = ["type", "$ref", "anyOf", "oneOf", "allOf"];

/** Names of a form's fields whose content is bytes: by their schemas, or without one by their encoding. */
export function filesOf(document: OpenApiDocument, media: unknown): readonly string[] {
  const isSaid = (name: string, field: unknown) =>
    isFields(field) &&
    SHAPES.every((word) => !Object.hasOwn(field, word)) &&
    isBytes(textOf(fieldOf(fieldOf(media, "encoding"), name), "contentType"));
  return [...describedFields(document, media)]
    .filter(([name, field]) => document.once(field, isFile) || isSaid(name, field))
    .map(([name]) => name);
}

function isBytes(mediaType: string | undefined): boolean {
  return mediaType !== undefined && formOf(mediaType) === "bytes";
}

/** Whether a schema, in place of references to it, has fields that must be given. */
export function requiresFields(document: OpenApiDocument, schema: unknown): boolean {
  const properties = followQuietly(document, fieldOf(schema, "properties"));
  const isGiven = (name: unknown) =>
    typeof name === "string" && !isMarked(document, fieldOf(properties, name), "readOnly");
  return listOf(schema, "required").some(isGiven);
}

const FORMS: readonly BodyForm[] = ["json", "urlencoded", "multipart", "text", "bytes"];
/** What is sent for a range of media types, like `text/*`. */
const STAND_INS: Readonly<Record<BodyForm, string>> = {
  json: "application/json",
  urlencoded: "application/x-www-form-urlencoded",
  multipart: "multipart/form-data",
  text: "text/plain",
  bytes: "application/octet-stream",
};

/** The rank of a media type among those of JSON, 0 being best. JSON Patch (RFC 6902) is the last. */
export function jsonRank(mediaType: string): number {
  const type = essenceOf(mediaType);
  return type === "application/json" ? 0 : type === "application/json-patch+json" ? 2 : 1;
}

function essenceOf(mediaType: string): string {
  return mediaType.toLowerCase().split(";", 1)[0]!.trim();
}

export function formOf(mediaType: string): BodyForm {
  const type = essenceOf(mediaType);
  if (/^(?:(?:application|text)\/json|\*\/\*)$|\+json$/.test(type)) return "json";
  if (type === "application/x-www-form-urlencoded") return "urlencoded";
  if (type === "multipart/form-data") return "multipart";
  return TEXTS.test(type) ? "text" : "bytes";
}

const TEXTS =
  /^text\/|\+(?:json-seq|xml|yaml)$|^application\/(?:xml|yaml|x-yaml|javascript|graphql|(?:x-)?(?:ndjson|jsonl|json-?lines)|json-seq|sql|toml)$/;
