import { withWholeNumbers } from "../../tools/whole-numbers.ts";
import { fieldOf, type Fields, isFields, loadPackage, PortcullisError, textOf } from "../../base/index.ts";
import { PartFault } from "./document.ts";
import { encodedStrictly, isHeaderValue } from "../request-text.ts";
import { type Parameter, serialisationOf, type Serialisation } from "./operations.ts";
import type { BodyFields, OperationInput } from "./tool-input.ts";

let styles: Pick<typeof import("openapi-fetch"), "serializeArrayParam" | "serializeObjectParam">;

/** Loads what writes lists and objects, before any request is written. */
export async function loadStyles(): Promise<void> {
  const missing = "fromOpenApi needs the package openapi-fetch to write requests: npm install openapi-fetch.";
  styles = await loadPackage("source_unavailable", missing, () => import("openapi-fetch"));
}

/** A request below the address of its API, without what the host adds. */
export interface RequestParts {
  readonly path: string;
  /** Without a question mark; empty if there is no query. */
  readonly query: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly cookies: readonly string[];
  readonly body: string | FormData | Uint8Array | undefined;
}

type PathParts = readonly { readonly text: string; readonly isVariable: boolean }[];

export function pathParts(path: string): PathParts {
  return path
    .split(/(\{[^{}]+\})/)
    .filter((part) => part !== "")
    .map((part) =>
      part.startsWith("{") && part.endsWith("}")
        ? { text: part.slice(1, -1), isVariable: true }
        : { text: encoded(decodedOnce(part), PATH_CHARACTERS), isVariable: false },
    );
}

function decodedOnce(text: string): string {
  try {
    return decodeURI(text);
  } catch {
    return text;
  }
}

/** Throws a `PartFault` for a path that would not reach its server as it is written. */
export function checkPath(baseUrl: URL, parts: PathParts): void {
  const path = parts.map(({ text, isVariable }) => (isVariable ? "x" : text)).join("");
  const url = new URL(`${baseUrl.origin}${basePath(baseUrl)}${path}`);
  if (url.pathname !== `${basePath(baseUrl)}${path}`) throw new PartFault("its path has parts like . or ..");
}

export function basePath({ pathname }: URL): string {
  return pathname.endsWith("/") ? pathname.slice(0, -1) : pathname;
}

/** Writes the request of a call. Throws a `PortcullisError` (`tool_failed`) for values that no request can carry. */
export function requestParts(
  address: { readonly path: PathParts; readonly query: PathParts },
  { schema, parameters, body }: OperationInput,
  input: Fields,
): RequestParts {
  const entries = parameters.flatMap(({ field, parameter }) => {
    const value = fieldOf(input, field);
    return value === undefined || value === null ? [] : [{ parameter, value }];
  });
  const at = (place: Parameter["place"]) => entries.filter(({ parameter }) => parameter.place === place);
  const variables = new Map(at("path").map(({ parameter, value }) => [parameter.name, variable(parameter, value)]));
  const filled = (parts: PathParts) =>
    parts.map(({ text, isVariable }) => (isVariable ? (variables.get(text) ?? "") : text)).join("");
  const fixed = filled(address.query);
  const described = parameters.flatMap(({ parameter: { place, name } }) => (place === "query" ? [name] : []));
  const names = new Set([...new URLSearchParams(fixed).keys(), ...described].map(readName));
  const asked = at("query").map(({ parameter, value }) => written(parameter, value, queryEncoder(parameter), names));
  return {
    path: filled(address.path),
    query: [fixed, ...asked].filter((text) => text !== "").join("&"),
    headers: at("header").map(({ parameter, value }) => [parameter.name, headerText(parameter, value)] as const),
    cookies: at("cookie").map(({ parameter, value }) => written(unexploded(parameter), value, encodedStrictly)),
    body: body && bodyOf(body, body.body.form === "json" ? withWholeNumbers(input, schema) : input),
  };
}

type Encode = (text: string) => string;

const UNRESERVED = "A-Za-z0-9\\-._~";
/** Characters that stay as they are in the text of a path, and in a query if reserved characters are allowed. */
const PATH_CHARACTERS = new RegExp(`[^${UNRESERVED}!$&'()*+,;=:@/]+`, "gu");
const ALLOWED_CHARACTERS = new RegExp(`[^${UNRESERVED}!$'()*,;=:@/?]+`, "gu");

function encoded(text: string, others: RegExp): string {
  return text.toWellFormed().replaceAll(others, encodeURIComponent);
}

function queryEncoder({ serialisation }: Parameter): Encode {
  return serialisation?.allowReserved ? (text) => encoded(text, ALLOWED_CHARACTERS) : encodedStrictly;
}

/** One value of a list or an object as text; what is nested deeper is JSON. */
function scalarText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

type Named = Pick<Parameter, "name" | "serialisation">;

/** The name of a parameter as a server may read it: in any case, and `a[]` as `a`. */
function readName(name: string): string {
  return name.trim().toLowerCase().replace(/\[.*$/s, "");
}

/**
 * A parameter of a query, a cookie or a form: `name=value`, as often as its style asks. Empty for an empty list. No object is
 * written as fields of `names`: the request has these otherwise.
 */
function written(
  { name, serialisation }: Named,
  value: unknown,
  encode: Encode,
  names: ReadonlySet<string> = new Set(),
): string {
  const key = encodedStrictly(name);
  if (!serialisation) return `${key}=${encode(JSON.stringify(value))}`;
  if (typeof value !== "object") return `${key}=${encode(scalarText(value))}`;
  const fields = Object.keys(value as object);
  const isOfFields = serialisation.style === "form" && serialisation.explode;
  const clash = isOfFields ? fields.find((field) => names.has(readName(field))) : undefined;
  if (clash !== undefined)
    throw refused(
      `${name} must not have the field ${JSON.stringify(clash)}: the request has another part of this name.`,
    );
  return fields.length === 0
    ? ""
    : severalText(key, serialisation, value as object, { encodeName: encodedStrictly, encode });
}

/** Maximum length of an object in brackets, in characters: each of its values has the names of all that it is in. */
const BRACKETS_LENGTH = 4 * 1024 * 1024;

/** `items[0][price]=p`, as servers read it that ask for `deepObject`. The standard leaves open what is within an object. */
function inBrackets(key: string, value: object, encode: Encode): string {
  const pairs: string[] = [];
  let length = 0;
  const write = (name: string, part: unknown): void => {
    if (typeof part === "object" && part !== null) {
      for (const [field, inner] of Object.entries(part)) write(`${name}[${encodedStrictly(field)}]`, inner);
      return;
    }
    const pair = `${name}=${encode(scalarText(part))}`;
    length += pair.length;
    if (length > BRACKETS_LENGTH) throw refused(`${key} is too large to be sent with each value under its whole name.`);
    pairs.push(pair);
  };
  write(key, value);
  return pairs.join("&");
}

/** A list or an object in its style. The names of fields are encoded too: like the values, they are a program's text. */
function severalText(
  key: string,
  { style, explode }: Serialisation,
  value: object,
  { encodeName, encode }: { readonly encodeName: Encode; readonly encode: Encode },
): string {
  if (style === "deepObject") return inBrackets(key, value, encode);
  const written = { explode, allowReserved: true };
  if (Array.isArray(value)) {
    const items = value.map((item) => encode(scalarText(item)));
    return styles.serializeArrayParam(key, items, { ...written, style });
  }
  const fields = Object.entries(value).map(([name, field]) => [encodeName(name), encode(scalarText(field))] as const);
  if (style === "spaceDelimited" || style === "pipeDelimited")
    return styles.serializeArrayParam(key, fields.flat(), { ...written, style, explode: false });
  return styles.serializeObjectParam(key, Object.fromEntries(fields), { ...written, style });
}

function unexploded(parameter: Parameter): Parameter {
  const { serialisation } = parameter;
  return serialisation ? { ...parameter, serialisation: { ...serialisation, explode: false } } : parameter;
}

/** A value in a path, encoded, so that it stays within its segment. */
function variable(parameter: Parameter, value: unknown): string {
  const { name } = parameter;
  const text = simple(parameter, value, encodedStrictly);
  const segments = decodeURIComponent(text).split(/[/\\]/);
  if (text === "") throw refused(`${name} must not be empty: it is a part of the address.`);
  if (segments.some((segment) => segment === "." || segment === ".."))
    throw refused(`${name} must not have a part "." or "..": it is a part of the address.`);
  return text;
}

function simple({ name, serialisation }: Named, value: unknown, encode: Encode): string {
  if (!serialisation) return encode(JSON.stringify(value));
  const key = encodedStrictly(name);
  if (typeof value === "object" && value !== null)
    return severalText(key, serialisation, value, { encodeName: encode, encode });
  const text = encode(scalarText(value));
  if (serialisation.style === "label") return `.${text}`;
  return serialisation.style === "matrix" ? `;${key}=${text}` : text;
}

function headerText(parameter: Parameter, value: unknown): string {
  const text = simple(parameter, value, (one) => one);
  if (isHeaderValue(text)) return text;
  throw refused(`${parameter.name} must be text of Latin-1 without line breaks: it is sent as a header.`);
}

function bodyOf(place: BodyFields, input: Fields): RequestParts["body"] {
  const value = bodyValue(place, input);
  if (value === undefined) return undefined;
  const { body, files } = place;
  const names = new Set([...place.names].map(readName));
  switch (body.form) {
    case "json":
      return JSON.stringify(value);
    case "text":
      return scalarText(value);
    case "bytes":
      return bytesOf("body", value);
    case "urlencoded":
      return Object.entries(fieldsOf(value))
        .filter(([, field]) => field !== null && field !== undefined)
        .map(([name, field]) => written(formField(name, field, body.encoding), field, encodedStrictly, names))
        .filter((text) => text !== "")
        .join("&");
    case "multipart":
      return formData(fieldsOf(value), files, body.encoding);
  }
}

function bodyValue({ body, isFlat, names }: BodyFields, input: Fields): unknown {
  if (!isFlat) return fieldOf(input, "body");
  const fields = Object.entries(input).filter(([name]) => names.has(name));
  return fields.length === 0 && !body.required ? undefined : Object.fromEntries(fields);
}

function fieldsOf(value: unknown): Fields {
  if (isFields(value)) return value;
  throw refused("body must be an object: it is sent as a form.");
}

/** Without an `encoding` of its own, an object in a form is JSON and a list is its field repeated. */
function formField(name: string, value: unknown, encoding: unknown): Named {
  const own = fieldOf(encoding, name);
  if (isFields(value) && fieldOf(own, "style") === undefined) return { name, serialisation: undefined };
  return { name, serialisation: serialisationOf(own, "query", name) };
}

function formData(fields: Fields, files: ReadonlySet<string>, encoding: unknown): FormData {
  const form = new FormData();
  for (const [name, field] of Object.entries(fields))
    for (const one of Array.isArray(field) ? (field as readonly unknown[]) : [field]) {
      if (one === null || one === undefined) continue;
      const contentType = textOf(fieldOf(encoding, name), "contentType") ?? "";
      // A choice of types says nothing of this file.
      const type = contentType.includes(",") || contentType.includes("*") ? "" : contentType;
      if (files.has(name)) form.append(name, new Blob([bytesOf(name, one)], { type }), name);
      else if (typeof one === "object")
        form.append(name, new Blob([JSON.stringify(one)], { type: "application/json" }));
      else form.append(name, scalarText(one));
    }
  return form;
}

function bytesOf(name: string, value: unknown): Buffer<ArrayBuffer> {
  const bytes = typeof value === "string" ? Buffer.from(value, "base64") : undefined;
  if (bytes === undefined || bytes.toString("base64").replaceAll("=", "") !== plainBase64(String(value)))
    throw refused(`${name} must be text in base64.`);
  return bytes;
}

function plainBase64(text: string): string {
  return text.replaceAll(/[\s=]/g, "").replaceAll("-", "+").replaceAll("_", "/");
}

function refused(message: string): PortcullisError {
  return new PortcullisError("tool_failed", message);
}
