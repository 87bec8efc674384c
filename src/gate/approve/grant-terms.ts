import {
  checkOptions,
  fieldsOf,
  isFields,
  now,
  option,
  optionError,
  pointerKeys,
  PortcullisError,
  wholeNumber,
} from "../../base/index.ts";
import { valueAt } from "../../tools/json-schema/json-schema.ts";

/**
 * Further calls of the same tool, in the same execution, that need no decision of their own. At least one field is given,
 * and a call has to fit all that are.
 */
export interface Grant {
  /** Number of further calls. */
  readonly calls?: number;
  /** By JSON pointers into the input, like `/amount`: what the numbers there may be in all. A call without such a number, or with a negative one, does not fit. */
  readonly sums?: Readonly<Record<string, number>>;
  /** When it ends, in milliseconds since 1970. */
  readonly untilMs?: number;
}

/** What is left of a grant, for an approver who is asked again. */
export interface GrantLeft extends Grant {
  /** Id of the call with whose decision it was given. */
  readonly call: string;
  readonly by: string | undefined;
}

/** How a call is allowed by a grant, as the journal keeps it. */
export interface GrantUse {
  /** Id of the call with whose decision the grant was given. */
  readonly call: string;
  /** What the call takes of each sum, by JSON pointer. */
  readonly sums?: Readonly<Record<string, number>>;
  /** What is left of the grant after it. */
  readonly left: Grant;
}

/** Grants of one execution at most: each is tried on the calls that wait, and on each further call. */
export const MAX_GRANTS = 10;
const MAX_SUMS = 20;
const POINTER = /^(?:\/(?:[^/~]|~[01])*)+$/;

export const GRANT_FIELDS = {
  calls: wholeNumber({ min: 1, max: 1_000_000 }),
  sums: option<Readonly<Record<string, number>>>(
    `numbers of at least 0 by JSON pointers, like { "/amount": 500 }, ${MAX_SUMS} at most`,
    (value) =>
      isFields(value) &&
      Object.keys(value).length > 0 &&
      Object.keys(value).length <= MAX_SUMS &&
      Object.entries(value).every(([pointer, sum]) => pointer.length <= 256 && POINTER.test(pointer) && isAmount(sum)),
  ),
  untilMs: option<number>(
    "a time to come, in milliseconds since 1970",
    (value) => isAmount(value) && value > now() && value <= 8.64e15,
  ),
};

/**
 * Checks a grant that is given with the decision about a call with this input. Throws `option_invalid`; `place` is its name in
 * the message. A sum of what the call does not have would allow no call at all.
 */
export function readGrant(place: string, value: unknown, input: unknown): Grant {
  if (!isFields(value)) throw optionError(place, 'an object like { calls: 20, sums: { "/amount": 500 } }', value);
  const { calls, sums, untilMs } = checkOptions<typeof GRANT_FIELDS>(fieldsOf(place), value, GRANT_FIELDS);
  if (calls === undefined && sums === undefined && untilMs === undefined)
    throw optionError(place, "at least one of calls, sums and untilMs", value);
  const missing = Object.keys(sums ?? {}).find((pointer) => !isSummable(valueAt(input, pointerKeys(pointer))));
  if (missing !== undefined)
    throw optionError(`${place}.sums`, "pointers to numbers in the input of the call that is decided", missing);
  return { calls, sums: sums && { ...sums }, untilMs };
}

/** The error about one grant more than an execution may have. */
export function tooManyGrants(place: string): PortcullisError {
  return new PortcullisError(
    "option_invalid",
    `${place}: the execution has ${MAX_GRANTS} grants, which is the most. Decide this call without a grant: later calls that fit none are asked about.`,
  );
}

/** A text may be what the journal has in place of a number that was redacted. */
function isSummable(value: unknown): boolean {
  return typeof value === "number" || typeof value === "string";
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
