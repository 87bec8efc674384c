import {
  describe,
  fieldOf,
  type Fields,
  isFields,
  jsonFault,
  JobThread,
  loadPackage,
  PortcullisError,
  readerFor,
  sizeFault,
  textOf,
  asUntrusted,
  weigh,
} from "../../base/index.ts";
import { resolveReference } from "../../tools/json-schema/index.ts";

/** Maximum length of a document's text, in UTF-16 code units. The largest public documents have some 40 million. */
const MAX_LENGTH = 64 * 1024 * 1024;
/** Maximum values in a document. A shared part, as by an alias in YAML, counts in every place. */
const MAX_VALUES = 5_000_000;
/** Maximum depth. Schemas are read by recursion, and become at most a few levels deeper. */
const MAX_DEPTH = 200;
/** Maximum length of a name, a path and a reference, in characters. Maps and objects compare very long ones with each other. */
export const NAME_LENGTH = 1000;
const MAX_CHAIN = 32;
/** Maximum parameters of one operation, and maximum parameters and fields of bodies of all operations together. */
const MAX_PARAMETERS = 1000;
const MAX_PARTS = 1_000_000;

/** Why a part of a document cannot be used. The message continues a sentence about the operation that it belongs to. */
export class PartFault extends Error {}

/** The beginning of a text of the document, for a message. */
export function quoted(text: string, length = 100): string {
  return JSON.stringify(text.slice(0, length));
}

/** A name, a path or a reference. Throws a `PartFault` for a very long one. */
export function shortName(name: string): string {
  if (name.length <= NAME_LENGTH) return name;
  throw new PartFault(`${quoted(name)}… is a name of ${name.length} characters; at most ${NAME_LENGTH} are read`);
}

/** The value that `make` returns, or the fault that it throws. */
export function orFault<Value>(make: () => Value): Value | PartFault {
  try {
    return make();
  } catch (fault) {
    if (fault instanceof PartFault) return fault;
    throw fault;
  }
}

/** The value for a key, made once. If it cannot be made, its fault is thrown each time. */
export function remembered<Key, Value>(
  cache: Map<Key, Value | PartFault>,
  key: Key,
  make: () => Value | PartFault,
): Value {
  const result = cache.has(key) ? (cache.get(key) as Value | PartFault) : orFault(make);
  cache.set(key, result);
  if (result instanceof PartFault) throw result;
  return result;
}

/** A document of OpenAPI 3.0, 3.1 or 3.2, which may have been converted from Swagger 2.0. */
export class OpenApiDocument {
  readonly root: Fields;
  /** Schemas of 3.0 have words of their own: `nullable`, and `exclusiveMinimum: true`. */
  readonly hasOldSchemas: boolean;
  readonly #read = new Map<unknown, Map<unknown, unknown>>();
  #partsLeft = MAX_PARTS;

  constructor(root: Fields, hasOldSchemas: boolean) {
    this.root = root;
    this.hasOldSchemas = hasOldSchemas;
  }

  /** What a part says, read once: a small document may refer to a large part from every operation. Its fault is thrown each time. */
  once<Part, Value>(part: Part, read: (document: OpenApiDocument, part: Part) => Value): Value {
    // Of numbers, of texts that are numbers, and of very long texts anybody can choose many that stand in one place of a map.
    const isReference = typeof part === "string" && part.startsWith("#") && part.length <= NAME_LENGTH;
    if (typeof part !== "object" && !isReference) return read(this, part);
    const cache = (this.#read.get(read) ?? new Map()) as Map<Part, Value | PartFault>;
    this.#read.set(read, cache);
    return remembered(cache, part, () => read(this, part));
  }

  /** Counts what an operation has for itself of the parts that it refers to. Throws a `PartFault` for too many. */
  count({ parameters = 0, fields = 0 }: { readonly parameters?: number; readonly fields?: number }): void {
    if (parameters > MAX_PARAMETERS) throw new PartFault(`it has more than ${MAX_PARAMETERS} parameters`);
    this.#partsLeft -= parameters + fields;
    if (this.#partsLeft < 0)
      throw new PartFault(
        `the document's operations have more than ${MAX_PARTS} parameters and fields together; take those out that are not needed`,
      );
  }
}

/**
 * Reads a document: its text, JSON or YAML, or the object parsed from it. Rejects with a `PortcullisError`:
 * `source_invalid` for anything else and for a document that is too large, `source_unavailable` if a library is missing.
 */
export async function readDocument(source: string, spec: unknown): Promise<OpenApiDocument> {
  const invalid = (why: string, cause?: unknown) =>
    new PortcullisError("source_invalid", `fromOpenApi({ name: ${JSON.stringify(source)}, spec }): ${why}`, { cause });
  const parsed = typeof spec === "string" ? await parse(spec, invalid) : spec;
  if (!isFields(parsed) || parsed instanceof Uint8Array)
    throw invalid(
      `expected an OpenAPI document, as an object or as its text (JSON or YAML), got ${Array.isArray(parsed) ? "a list" : describe(spec)}. No path is read and no address is fetched: give the text, as by readFileSync(path, "utf8").`,
    );
  const fault = sizeFault(parsed, { depth: MAX_DEPTH, values: MAX_VALUES });
  if (fault !== undefined) throw invalid(`the document ${fault}.`);
  const version = versionOf(parsed);
  if (version === "2.0") return new OpenApiDocument(await upgraded(parsed, invalid), false);
  if (version !== undefined && /^3\.[012]/.test(version)) return new OpenApiDocument(parsed, version.startsWith("3.0"));
  throw invalid(
    version === undefined
      ? `this is no OpenAPI document: it has neither "openapi" nor "swagger" with a version.`
      : `the document is of version ${version.slice(0, 20)}; Swagger 2.0 and OpenAPI 3.0, 3.1 and 3.2 can be read.`,
  );
}

type Invalid = (why: string, cause?: unknown) => PortcullisError;

async function parse(text: string, invalid: Invalid): Promise<unknown> {
  if (text.length > MAX_LENGTH)
    throw invalid(`the text has ${text.length} characters, at most ${MAX_LENGTH} are read.`);
  const bare = text.startsWith("\ufeff") ? text.slice(1) : text;
  const isJson = /^\s*[{[]/.test(bare);
  const unreadable = (reason: string, cause?: unknown) =>
    invalid(`the text is no ${isJson ? "JSON" : "YAML"}: ${firstLine(reason)}`, cause);
  const read = isJson ? { json: bare } : await convertDocument({ yaml: bare });
  if ("error" in read) throw unreadable(read.error);
  const fault = await jsonFault(asUntrusted(read.json), { depth: MAX_DEPTH, values: MAX_VALUES }, readerFor(""));
  if (fault !== undefined) throw invalid(`the document ${FAULTS[fault]}.`);
  try {
    return JSON.parse(read.json);
  } catch (cause) {
    throw unreadable(cause instanceof Error ? cause.message : "", cause);
  }
}

const FAULTS = {
  depth: `is nested more than ${MAX_DEPTH} levels deep`,
  values: `holds more than ${MAX_VALUES} values, or hundreds of very long names`,
  syntax: "is no JSON",
  time: "takes too long to measure",
};

function firstLine(reason: string): string {
  return reason.split("\n", 1)[0]!.slice(0, 200).replace(/\.$/, "");
}

/** YAML reads a version without quotation marks as a number. */
function versionOf(root: Fields): string | undefined {
  const version = fieldOf(root, "openapi") ?? fieldOf(root, "swagger");
  if (typeof version === "string") return version;
  return typeof version === "number" ? version.toFixed(1) : undefined;
}

/** Bytes of the parameters that are put in place of references to them, in all places together. */
const OWN_BYTES = 2 * 1024 * 1024;

/** A document of Swagger 2.0 as one of OpenAPI 3.1. The library copies field by field. */
async function upgraded(root: Fields, invalid: Invalid): Promise<Fields> {
  if (hasField(root, "__proto__")) throw invalid("the document has a field named __proto__: rename it.");
  const bytes = weigh(root, MEBIBYTES.most * 2 ** 20);
  const own = withOwnBodies(root);
  if (weigh(own, bytes + OWN_BYTES) > bytes + OWN_BYTES)
    throw invalid(
      "the parameters of bodies and forms that operations refer to are too large in all of them together: let their schemas refer to definitions.",
    );
  const read = await convertDocument({ swagger: { ...own, swagger: "2.0" }, bytes });
  const value: unknown = "json" in read ? JSON.parse(read.json) : undefined;
  if (isFields(value)) return value;
  throw invalid(
    `the document does not follow Swagger 2.0, so it cannot be read as OpenAPI 3.1${"error" in read ? `: ${firstLine(read.error)}` : ""}.`,
    "error" in read ? new Error(read.error) : undefined,
  );
}

/** A document of Swagger 2.0 whose operations have the parameters of their bodies and forms in themselves: the library loses those it refers to. */
function withOwnBodies(root: Fields): Fields {
  const withOwn = (part: unknown): unknown => {
    if (!isFields(part)) return part;
    const { parameters } = part;
    return Array.isArray(parameters) ? { ...part, parameters: parameters.map((one) => ownIfOfBody(root, one)) } : part;
  };
  const mapped = (fields: unknown, map: (value: unknown) => unknown): unknown =>
    isFields(fields) ? Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, map(value)])) : fields;
  return { ...root, paths: mapped(root.paths, (item) => withOwn(mapped(item, withOwn))) };
}

/** A parameter of a body or a form in place of a reference to it. A list in a form is written with commas if nothing is said. */
function ownIfOfBody(root: Fields, parameter: unknown): unknown {
  const reference = textOf(parameter, "$ref");
  const isShort = reference !== undefined && reference.length <= NAME_LENGTH;
  const own = isShort ? resolveReference(root, reference) : parameter;
  const place = textOf(own, "in");
  if (place !== "body" && place !== "formData") return parameter;
  const isList = place === "formData" && textOf(own, "type") === "array";
  return isList && isFields(own) ? { collectionFormat: "csv", ...own } : own;
}

function hasField(root: Fields, name: string): boolean {
  const open: unknown[] = [root];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (typeof part !== "object" || part === null) continue;
    if (Object.hasOwn(part, name)) return true;
    for (const child of Object.values(part)) if (typeof child === "object" && child !== null) open.push(child);
  }
  return false;
}

/** A value, or the value to which its references lead. Throws a `PartFault` for a reference that leads nowhere, or out of the document. */
export function follow(document: OpenApiDocument, value: unknown): unknown {
  let part = value;
  for (let steps = 0; steps < MAX_CHAIN; steps += 1) {
    const reference = textOf(part, "$ref");
    if (reference === undefined) return part;
    part = document.once(reference, target);
  }
  throw new PartFault("its references lead in a circle");
}

/** The same, undefined for a reference that leads nowhere. */
export function followQuietly(document: OpenApiDocument, value: unknown): unknown {
  const followed = orFault(() => follow(document, value));
  return followed instanceof PartFault ? undefined : followed;
}

/** Whether a schema, or what it refers to, has a word like `readOnly`. */
export function isMarked(document: OpenApiDocument, schema: unknown, word: string): boolean {
  return fieldOf(schema, word) === true || fieldOf(followQuietly(document, schema), word) === true;
}

export function target({ root }: OpenApiDocument, reference: string): unknown {
  const shown = quoted(reference, 200);
  if (!reference.startsWith("#"))
    throw new PartFault(`it refers to ${shown}, which is another document; put the files into one, as bundlers do`);
  const part = resolveReference(root, shortName(reference));
  if (part === undefined) throw new PartFault(`it refers to ${shown}, which the document does not have`);
  return part;
}

/** Longest processor time for a document, in milliseconds. The largest public documents in YAML take a third of it. */
const CONVERT_MS = 60_000;
/** Memory of the thread, in MiB, and of this the part that depends on the document, in bytes for each of its own. */
const MEBIBYTES = { least: 64, most: 2048 };
const BYTES_OF_BYTE = 128;

/** `bytes`: the size of the document, without what was put into it. */
type Conversion = { readonly yaml: string } | { readonly swagger: object; readonly bytes: number };

/** A converted document, or why it could not be converted, in words. */
type Converted = { readonly json: string } | { readonly error: string };

const THREAD = new URL("./conversion-thread.js", import.meta.url);

/**
 * Reads YAML, or makes OpenAPI 3.1 of Swagger 2.0, off the host's thread. Rejects with `source_unavailable` if the
 * library is missing or the thread cannot be started: neither says anything of the document.
 */
async function convertDocument(conversion: Conversion): Promise<Converted> {
  const missing =
    "fromOpenApi needs the package @scalar/openapi-parser to read YAML and Swagger 2.0: npm install @scalar/openapi-parser.";
  await loadPackage("source_unavailable", missing, () => import("@scalar/openapi-parser"));
  const bytes = "yaml" in conversion ? conversion.yaml.length : conversion.bytes;
  const thread = new JobThread<Conversion, Converted>({
    entry: () => THREAD,
    jobMs: () => CONVERT_MS,
    // The library copies for each reference what many operations refer to.
    heapMebibytes: Math.min(MEBIBYTES.most, MEBIBYTES.least + Math.ceil((bytes * BYTES_OF_BYTE) / 2 ** 20)),
    purpose: "reads YAML and Swagger 2.0",
  });
  const converted = await thread.do(conversion, { tenant: "" }).catch((cause: PortcullisError) => {
    const advice = "The document was not read: it can be given as JSON of OpenAPI 3.";
    throw new PortcullisError("source_unavailable", `${cause.message} ${advice}`, { cause });
  });
  if (converted !== "given_up") return converted;
  return {
    error: `it takes more than ${CONVERT_MS / 1000} s, or too much memory, to read; write it as JSON of OpenAPI 3`,
  };
}
