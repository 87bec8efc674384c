import { optionError, PortcullisError } from "../../errors.ts";
import { checkOptions, fieldsOf, object, option, wholeNumber } from "../../option-rules/options.ts";
import { isPlain, isSchema, readJsonSchema, type Schema, storedSchema } from "../../tools/schema.ts";
import { type JsonSchema, valueAt } from "../../tools/json-schema/json-schema.ts";
import { isFields } from "../../values/fields.ts";
import { parsedJson } from "../../values/json/json-text.ts";

/**
 * Further calls of the same tool, in the same execution, that need no decision of their own. At least one field is given,
 * and a call has to fit all that are.
 */
export interface Grant {
  /** What the input has to be: a plain JSON Schema, or `jsonSchema(…)`. Schemas of libraries may check more than the journal can keep. */
  readonly input?: JsonSchema | Schema;
  /** Number of further calls. */
  readonly calls?: number;
  /** By JSON pointers into the input, like `/amount`: what the numbers there may be in all. A call without such a number, or with a negative one, does not fit. */
  readonly sums?: Readonly<Record<string, number>>;
  /** When it ends, in milliseconds since 1970. */
  readonly untilMs?: number;
}

/** A grant as the journal keeps it. */
export interface GrantTerms {
  /** JSON text of a schema. */
  readonly input?: string;
  readonly calls?: number;
  readonly sums?: Readonly<Record<string, number>>;
  readonly untilMs?: number;
}

/** What is left of a grant, for an approver who is asked again. */
export interface GrantLeft extends Pick<GrantTerms, "calls" | "sums" | "untilMs"> {
  /** Id of the call with whose decision it was given. */
  readonly call: string;
  readonly by: string | undefined;
  /** Whether it is only for inputs that fit a schema. */
  readonly bounded: boolean;
}

/** How a call is allowed by a grant, as the journal keeps it. */
export interface Granted {
  /** Id of the call with whose decision the grant was given. */
  readonly call: string;
  /** What the call takes of each sum, by JSON pointer. */
  readonly sums?: Readonly<Record<string, number>>;
  /** What is left of the grant after it. */
  readonly left: Pick<GrantTerms, "calls" | "sums" | "untilMs">;
}

/** Sums of one grant at most, and characters of its schema. */
const MAX_SUMS = 20;
const MAX_SCHEMA = 16_384;
const POINTER = /^(?:\/(?:[^/~]|~[01])*)+$/;

export const GRANT_FIELDS = {
  input: object<NonNullable<Grant["input"]>>("a plain JSON Schema, or jsonSchema(…)"),
  calls: wholeNumber({ min: 1, max: 1_000_000 }),
  sums: option<Readonly<Record<string, number>>>(
    `numbers of at least 0 by JSON pointers, like { "/amount": 500 }, ${MAX_SUMS} at most`,
    (given) =>
      isFields(given) &&
      Object.keys(given).length > 0 &&
      Object.keys(given).length <= MAX_SUMS &&
      Object.entries(given).every(([pointer, sum]) => pointer.length <= 256 && POINTER.test(pointer) && isAmount(sum)),
  ),
  untilMs: option<number>(
    "a time to come, in milliseconds since 1970",
    (given) => isAmount(given) && given > Date.now() && given <= 8.64e15,
  ),
};

/**
 * Checks a grant that is given with the decision about a call with this input. Throws `option_invalid`; `place` is its name in
 * the message. A sum of what the call does not have would allow no call at all.
 */
export function readGrant(place: string, given: unknown, inputText: string): GrantTerms {
  if (!isFields(given)) throw optionError(place, 'an object like { calls: 20, sums: { "/amount": 500 } }', given);
  const { input, ...terms } = checkOptions<typeof GRANT_FIELDS>(fieldsOf(place), given, GRANT_FIELDS);
  const { calls, sums, untilMs } = terms;
  if (input === undefined && calls === undefined && sums === undefined && untilMs === undefined)
    throw optionError(place, "at least one of input, calls, sums and untilMs", given);
  const missing = Object.keys(sums ?? {}).find(
    (pointer) => !isSummable(valueAt(parsedJson(inputText), keysOf(pointer))),
  );
  if (missing !== undefined)
    throw optionError(`${place}.sums`, "pointers to numbers in the input of the call that is decided", missing);
  return {
    ...(input === undefined ? {} : { input: schemaText(`${place}.input`, input) }),
    ...(calls === undefined ? {} : { calls }),
    ...(sums === undefined ? {} : { sums: { ...sums } }),
    ...(untilMs === undefined ? {} : { untilMs }),
  };
}

/** Text of a schema that checks any input at a bounded cost. */
function schemaText(place: string, given: NonNullable<Grant["input"]>): string {
  if (isSchema(given) && !isPlain(given))
    throw optionError(
      place,
      "a plain JSON Schema: the journal keeps it, and cannot keep the schema of a library",
      given,
    );
  try {
    const schema = isSchema(given) ? readJsonSchema(given, "input") : given;
    storedSchema(schema, { longest: MAX_SCHEMA });
    return JSON.stringify(schema);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new PortcullisError("option_invalid", `${place}: ${why}`, { cause: error });
  }
}

/** The schema of a journalled grant; undefined if it cannot be read, so that no input fits. */
export function schemaOf(text: string): Schema | undefined {
  try {
    return storedSchema(JSON.parse(text) as JsonSchema, { longest: MAX_SCHEMA });
  } catch {
    return undefined;
  }
}

/** A text may be what the journal has in place of a number that was redacted. */
function isSummable(value: unknown): boolean {
  return typeof value === "number" || typeof value === "string";
}

/** Keys of a JSON pointer. */
export function keysOf(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function isAmount(given: unknown): given is number {
  return typeof given === "number" && Number.isFinite(given) && given >= 0;
}
