import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import {
  describe,
  isAnyObject,
  isFields,
  MAX_DEPTH,
  pathText,
  PortcullisError,
  sizeFault,
  thrownMessage,
} from "../base/index.ts";
import {
  type CompiledSchema,
  compileSchema,
  OWN_SIZE,
  type PatternStates,
  refuseLarge,
  type SchemaSize,
  withoutFaults,
} from "./json-schema/compile-schema.ts";
import { currentDraft } from "./json-schema/current-draft.ts";
import { compiledBy } from "./json-schema/compiled-schemas.ts";
import { evaluate, MAX_STEPS } from "./json-schema/evaluate.ts";
import type { SchemaFailure } from "./json-schema/findings.ts";
import { type JsonSchema, valueAt } from "./json-schema/json-schema.ts";

/** A schema that validates and can give its JSON Schema: of zod, arktype, another library with Standard JSON Schema, or `jsonSchema()`. */
export type Schema<Input = unknown, Output = Input> = StandardSchemaV1<Input, Output> &
  StandardJSONSchemaV1<Input, Output>;

/** One fault of a value. */
export interface Issue {
  /** Path from the value's root, like `items[2].price`; empty for the root. */
  readonly path: string;
  readonly message: string;
}

export type ValidationResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** The vendor of schemas that `jsonSchema()` makes. */
export const PLAIN_VENDOR = "portcullis";

/** Issues of one value that are listed; the rest are counted. */
const ISSUES_LISTED = 5;

/**
 * A plain JSON Schema as a `Schema`, for tools whose schemas come from elsewhere. Validates without code generation, in
 * a number of steps bounded by about the size of the value times that of the schema. `$ref` must stay within the schema.
 * Throws a `PortcullisError` (`option_invalid`) with the place of a part that cannot be checked at that cost.
 */
export function jsonSchema<Value = unknown>(schema: JsonSchema): Schema<Value, Value> {
  if (!isFields(schema)) {
    throw new PortcullisError(
      "option_invalid",
      `jsonSchema(schema): expected a JSON Schema object, got ${describe(schema)}.`,
    );
  }
  const text = textOf(schema, OWN_SIZE);
  const compiled = compileSchema(JSON.parse(text) as JsonSchema);
  compiled.unchecked.forEach(refuseUnchecked);
  return plainSchema(
    () => JSON.parse(text) as JsonSchema,
    () => compiled,
  );
}

/** The text of a schema in draft 2020-12 that is not too large to be read. */
function textOf(schema: JsonSchema, size: SchemaSize, leavesFaults = false): string {
  if ("~standard" in schema)
    throw new PortcullisError(
      "option_invalid",
      "jsonSchema(schema): this is a schema of a library, not a plain JSON Schema: use it as it is, without jsonSchema().",
    );
  refuseLarge(schema, size);
  const current = leavesFaults ? withoutFaults(currentDraft(schema)) : currentDraft(schema);
  return JSON.stringify(current);
}

interface OwnSchema extends LazyOptions {
  /** The compiled form, kept or made anew. */
  readonly compiled: () => CompiledSchema;
}

/** The schemas that this package made. */
const ownSchemas = new WeakMap<Schema, OwnSchema>();

/** The compiled form of a schema that this package made; undefined for a schema of a library. */
export function compiledForm(schema: Schema): CompiledSchema | undefined {
  return ownSchemas.get(schema)?.compiled();
}

/** A schema of this package has the compiled form of another one. */
export function keepCompiledForm(schema: Schema, of: Schema): void {
  ownSchemas.set(schema, { compiled: () => compiledForm(of)! });
}

/** A schema by its JSON Schema and its compiled form. */
function plainSchema<Value>(
  json: () => JsonSchema,
  compiled: () => CompiledSchema,
  options: LazyOptions = {},
): Schema<Value, Value> {
  const { checks = true, maxSteps } = options;
  const schema: Schema<Value, Value> = {
    "~standard": {
      version: 1,
      vendor: PLAIN_VENDOR,
      validate(value) {
        const failure = checks ? evaluate(compiled(), value, maxSteps) : undefined;
        return failure ? { issues: [issueOf(failure)] } : { value: value as Value };
      },
      jsonSchema: { input: json, output: json },
    },
  };
  ownSchemas.set(schema, { ...options, compiled });
  return schema;
}

/**
 * A plain JSON Schema that is made when it is first needed, for sources with thousands of tools. `make` must return the
 * same schema each time, and `jsonSchema()` must accept it but for its patterns, which are not checked if that has no
 * bounded cost; the schema of a tool's input must have type `object`. `identify` gives a short text that no other schema
 * has, for long schemas. With `checks: false` every value fits. Its compiled form is in the store of the process.
 */
export function lazySchema(
  make: () => JsonSchema,
  { identify = () => JSON.stringify(make()), checks = true, maxSteps = SOURCE_STEPS }: LazyOptions,
): Schema {
  let key: string | undefined;
  const compiled = () => compiledBy((key ??= identify()), () => compileSchema(make()));
  return plainSchema(make, compiled, { identify, checks, maxSteps });
}

interface LazyOptions {
  /** A text that no schema with other contents has. */
  readonly identify?: () => string;
  readonly checks?: boolean;
  /** Steps of one check of a value. */
  readonly maxSteps?: number;
}

/** States that the patterns of all schemas of a source may have together. */
export const SOURCE_STATES = 500_000;
/** Steps of one check against a schema of a source, whose results may be large. */
export const SOURCE_STEPS = 2_000_000;
/** Steps of one check against a schema that a client has sent or a journal has kept: some hundredth of a second of the host's thread. */
const FOREIGN_STEPS = 250_000;
/** The size of a schema of others: it is compiled in one piece, and again when it is no longer in the store. */
const FOREIGN_SIZE: SchemaSize = { values: 10_000, characters: 256 * 1024 };

interface StoredOptions {
  /** Maximum length of its text, in characters. */
  readonly longest?: number;
  /** Steps of one check of a value. */
  readonly maxSteps?: number;
  /** States that the patterns of several schemas may have together. */
  readonly states?: PatternStates;
  /** Whether parts that would be refused are left out of it. */
  readonly leavesFaults?: boolean;
  /** Called with each pattern that cannot be checked at a bounded cost, and why, in place of throwing. */
  readonly onUnchecked?: (why: string) => void;
}

function refuseUnchecked(why: string): never {
  throw new PortcullisError(
    "option_invalid",
    `jsonSchema(schema): ${why}. Write it in another way, or check that in the tool's handler.`,
  );
}

/**
 * Like `jsonSchema`, for schemas of others, of which many are held for a long time. Its text is kept; its compiled form,
 * which may take a hundred times as much memory, is in the store of the process. It may be smaller than one of the host's
 * own, and has fewer steps for the check of a value.
 */
export function storedSchema(
  schema: JsonSchema,
  {
    longest = Infinity,
    maxSteps = FOREIGN_STEPS,
    states,
    leavesFaults,
    onUnchecked = refuseUnchecked,
  }: StoredOptions = {},
): Schema {
  const text = textOf(schema, FOREIGN_SIZE, leavesFaults);
  if (text.length > longest)
    throw new PortcullisError(
      "option_invalid",
      `jsonSchema(schema): the schema has ${text.length} characters of JSON, at most ${longest} are allowed.`,
    );
  const take = (count: number) => {
    const unfit = states?.take(count);
    if (unfit !== undefined) refuseUnchecked(`the schema ${unfit}`);
  };
  // If nothing is left, it is not compiled at all.
  take(0);
  const stored = lazySchema(() => JSON.parse(text) as JsonSchema, { identify: () => text, maxSteps });
  const { states: stateCount = 0, unchecked = [] } = compiledForm(stored) ?? {};
  take(stateCount);
  unchecked.forEach(onUnchecked);
  return stored;
}

/** The JSON Schema that a schema of any library gives. Throws a `PortcullisError` if it is too large or too deep, and what the library throws. */
export function readJsonSchema(schema: Schema, side: "input" | "output"): JsonSchema {
  const json = schema["~standard"].jsonSchema[side]({ target: "draft-2020-12" });
  // A schema of `jsonSchema()` was read when it was made.
  if (schema["~standard"].vendor === PLAIN_VENDOR) return json;
  refuseLarge(json);
  return currentDraft(json);
}

/** Why a schema gives no JSON Schema, as a part of a sentence. */
export function schemaReason(error: unknown): string {
  return thrownMessage(error).replace(/^jsonSchema\(schema\): |\.$/g, "");
}

/** Whether a schema checks nothing but its JSON Schema, and gives values out unchanged. */
export function isPlain(schema: Schema): boolean {
  return schema["~standard"].vendor === PLAIN_VENDOR && ownSchemas.get(schema)?.checks !== false;
}

/** Whether a schema was made by `lazySchema`, so that asking for its JSON Schema would make it. */
export function isLazy(schema: Schema): boolean {
  return ownSchemas.get(schema)?.identify !== undefined;
}

/** Steps of one check of a value, and of one reading of its fields. */
export function stepsOf(schema: Schema): number {
  return ownSchemas.get(schema)?.maxSteps ?? MAX_STEPS;
}

/** A text that tells the contents of a lazy schema from the contents of others; undefined for any other schema. */
export function identityOf(schema: Schema): string | undefined {
  return ownSchemas.get(schema)?.identify?.();
}

/** The most useful problem: that no alternative of a choice fits, or else the innermost problem. */
function issueOf(
  failure: SchemaFailure,
  depth = 0,
): StandardSchemaV1.Issue & { readonly path: readonly PropertyKey[] } {
  const { message, path, alternatives } = failure.choice ?? failure.last;
  const keys: (string | number)[] = [];
  for (let place = path; place !== undefined; place = place.rest) keys.push(place.key);
  const read = depth < CHOICES_DEEP ? (alternatives?.slice(0, ALTERNATIVES_READ) ?? []) : [];
  return { message: message() + alternativesText(read.map((one) => issueOf(one, depth + 1))), path: keys };
}

/** Levels of choices within choices whose alternatives are told, and alternatives of one choice that are looked at. */
const CHOICES_DEEP = 2;
const ALTERNATIVES_READ = 32;
/** Alternatives of one choice whose faults are told, the nearest first. */
const ALTERNATIVES_TOLD = 3;

/** Why the alternatives of a choice do not fit, by the first fault of each. The deeper the fault, the nearer the alternative. */
function alternativesText(faults: readonly StandardSchemaV1.Issue[]): string {
  const texts = faults
    .toSorted((one, other) => (other.path?.length ?? 0) - (one.path?.length ?? 0))
    .map((fault) => {
      const path = pathText(keysOf(fault));
      const message = fault.message.replace(/\.$/, "");
      return path === "" ? message : `${path}: ${message}`;
    });
  const list = [...new Set(texts)].slice(0, ALTERNATIVES_TOLD);
  return list.length === 0 ? "" : ` (${list.join("; or ")})`;
}

function keysOf({ path = [] }: StandardSchemaV1.Issue): readonly PropertyKey[] {
  return path.map((part) => (typeof part === "object" ? part.key : part));
}

/** Whether a value is a `Schema`. Schemas of some libraries are functions. */
export function isSchema(value: unknown): value is Schema {
  const { validate: check, jsonSchema: json } = standardOf(value) ?? {};
  return check !== undefined && isAnyObject(json);
}

/** What a value that is nearly a schema lacks, and what to do. Undefined for a schema, and for a value of another kind. */
export function schemaFault(value: unknown): string | undefined {
  const standard = standardOf(value);
  if (standard === undefined) {
    const isPlainJson = isObject(value) && ("$schema" in value || ("type" in value && "properties" in value));
    return isPlainJson ? "this is a plain JSON Schema. Wrap it: jsonSchema(schema)." : undefined;
  }
  if (isSchema(value) || standard.vendor === undefined) return undefined;
  const lacks = standard.validate === undefined ? "does not validate" : "gives no JSON Schema";
  return `this schema of ${typeof standard.vendor === "string" ? standard.vendor : "another library"} ${lacks}. docs/tools-and-callers.md says how schemas of each library are passed ("Schema libraries").`;
}

function standardOf(value: unknown): { readonly [Word in keyof Schema["~standard"]]?: unknown } | undefined {
  const standard: unknown = isObject(value) && "~standard" in value ? value["~standard"] : undefined;
  return isAnyObject(standard) ? standard : undefined;
}

export function isObject(value: unknown): value is object {
  return isAnyObject(value) || typeof value === "function";
}

/** Values up to which the faults of all are described, in up to 50 microseconds and 50 KB each, if none of many alternatives fits. */
export const DESCRIBED_VALUES = 1000;

/**
 * Validates a value. Returns a promise only if the schema does. Of a large value, a schema of zod describes the first part
 * with faults; one of `jsonSchema()` always does.
 */
export function validate(schema: Schema, value: unknown): ValidationResult | Promise<ValidationResult> {
  const stops = isZod(schema) && isMany(value);
  const result = stops ? stopAtFault(schema, value) : schema["~standard"].validate(value);
  const read = (late: StandardSchemaV1.Result<unknown>) => toValidated(late, value, stops);
  return result instanceof Promise ? result.then(read) : read(result);
}

function isMany(value: unknown): boolean {
  try {
    return sizeFault(value, { depth: MAX_DEPTH, values: DESCRIBED_VALUES }) !== undefined;
  } catch {
    // Its own code throws.
    return true;
  }
}

const STOPPED: Issue = {
  path: "",
  message: "there may be more, because the check of a large value stops at the first",
};

/** `abortEarly` makes `validate` of zod 4.6 stop; other versions go on. */
interface Zod extends Schema {
  safeParse(value: unknown, context: { readonly abortEarly: boolean }): SafeParsed;
  safeParseAsync(value: unknown, context: { readonly abortEarly: boolean }): Promise<SafeParsed>;
}

type SafeParsed =
  | { readonly success: true; readonly data: unknown }
  | { readonly success: false; readonly error: StandardSchemaV1.FailureResult };

function isZod(schema: Schema): schema is Zod {
  return schema["~standard"].vendor === "zod" && typeof (schema as Partial<Zod>).safeParse === "function";
}

/** Like `validate` of the schema, which also begins anew if it cannot validate at once. */
function stopAtFault(schema: Zod, value: unknown): ReturnType<Schema["~standard"]["validate"]> {
  const read = (parsed: SafeParsed) => (parsed.success ? { value: parsed.data } : { issues: parsed.error.issues });
  try {
    return read(schema.safeParse(value, { abortEarly: true }));
  } catch {
    return schema.safeParseAsync(value, { abortEarly: true }).then(read);
  }
}

function toValidated(result: StandardSchemaV1.Result<unknown>, value: unknown, stopped: boolean): ValidationResult {
  if (!result.issues) return { ok: true, value: result.value };
  const issues = result.issues.slice(0, ISSUES_LISTED).map((issue) => {
    const keys = keysOf(issue);
    return { path: pathText(keys), message: withReceived(messageOf(issue), valueAt(value, keys)) };
  });
  const unlisted = result.issues.length - issues.length;
  if (unlisted > 0) issues.push({ path: "", message: `and ${unlisted} more` });
  return { ok: false, issues: stopped ? [...issues, STOPPED] : issues };
}

/** The message of an issue; of a choice in zod or valibot, with the faults of its alternatives. */
function messageOf(issue: StandardSchemaV1.Issue, depth = 0): string {
  const { errors, issues } = issue as { readonly errors?: unknown; readonly issues?: unknown };
  const lists: readonly unknown[] = Array.isArray(errors)
    ? errors
    : Array.isArray(issues)
      ? issues.map((one: unknown) => [one])
      : [];
  if (lists.length === 0 || depth === CHOICES_DEEP) return issue.message;
  const alternatives = (lists.slice(0, ALTERNATIVES_READ) as readonly (readonly StandardSchemaV1.Issue[])[]).flatMap(
    ([fault]) => (fault ? [{ ...fault, message: messageOf(fault, depth + 1) }] : []),
  );
  return issue.message.replace(/\.$/, "") + alternativesText(alternatives);
}

/** Issues as one text, separated by semicolons, except after a question mark. */
export function issuesText(issues: readonly Issue[]): string {
  return issues
    .map(({ path, message }) => (path === "" ? message : `${path}: ${message}`))
    .reduce((text, issue) => (text === "" ? issue : `${text}${text.endsWith("?") ? "" : ";"} ${issue}`), "");
}

function withReceived(message: string, received: unknown): string {
  const sentence = message.replace(/\.$/, "");
  return /\b(?:received|got)\b/i.test(sentence)
    ? sentence
    : `${sentence}, got ${received === undefined ? "nothing" : describe(received)}`;
}
