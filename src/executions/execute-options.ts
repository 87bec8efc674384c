import type { Language } from "../../bridge/frames.ts";
import {
  abortSignal,
  callbackRule,
  callback,
  type ExecutionId,
  flag,
  isTexts,
  listener,
  oneOf,
  option,
  optionError,
  type OptionRule,
  type OptionsOf,
  wholeNumber,
  withDefault,
} from "../base/index.ts";
import type { Approve } from "../gate/approve/approval.ts";
import { type Policy, POLICY_NAMES, type PolicyName } from "../gate/approve/policy.ts";
import type { Schema } from "../tools/schema.ts";
import type { ExecutionEvent } from "./event.ts";
import type { Correction } from "./from-journal/earlier-execution.ts";
import { LIMITS_OPTION } from "./limits.ts";
import type { ProgramCheckMode } from "./scope.ts";
import { RESULT } from "./drive/ending/result-schema.ts";

/** The sandbox checks whether it supports the language. */
export const LANGUAGE = option<Language>("the name of a language", (value) => typeof value === "string");

/**
 * Text by which journals find executions, tenants and keys. Stores keep half a character (a lone surrogate) as another
 * character, and would not find what they have kept; many cannot keep U+0000, and programs of C end a text there.
 */
export function idText(what: string): OptionRule<string, "optional"> {
  return option(
    `${what} of 1 to 256 characters of well-formed Unicode, without U+0000`,
    (value) =>
      typeof value === "string" &&
      value.length > 0 &&
      value.length <= 256 &&
      value.isWellFormed() &&
      !value.includes("\0"),
  );
}

export const TENANT = idText("a name");

export const CONTEXT = option<unknown>("any value", () => true);
export const APPROVE = callback<Approve>();
export const POLICY = callbackRule(
  option<Policy | PolicyName>(
    `a function, or ${POLICY_NAMES.map((name) => JSON.stringify(name)).join(", ")}`,
    (value) => typeof value === "function" || POLICY_NAMES.some((name) => name === value),
  ),
);

/** Types of the options that carry the host's own value. `context` may be left out if its type allows `undefined`. */
export type WithContext<Options, Context> = Omit<Options, "context" | "approve"> & {
  /** Decides about calls that need approval, in place of the runtime's `approve`. */
  readonly approve?: Approve<Context>;
} & (undefined extends Context ? Partial<HasContext<Context>> : HasContext<Context>);

interface HasContext<Context> {
  /** The host's own value, like the user of a request. Handlers and `approve` get it; a program and a model do not. */
  readonly context: Context;
}

/** Arguments whose options may be left out if `context` may be left out. */
export type ContextArguments<Options, Context> = undefined extends Context ? [options?: Options] : [options: Options];

export const EXECUTION = idText("an id");
export const PROGRAM_CHECK = oneOf<ProgramCheckMode>(["refuse", "warn", "off"]);

export const EXECUTE_RULES = {
  /**
   * Id of the execution, chosen by the caller. The same id again gives the same execution: it joins the running one, or
   * gives its report, and never runs a second one.
   */
  id: EXECUTION,
  /**
   * Id of the execution that this program corrects, of the same tenant and language. A call that equals one of it is answered
   * as that one was, and no handler runs: what was changed is not changed again, and what was read up to `maxAgeMs` ago is
   * not read again. Each call of it answers one call.
   */
  corrects: EXECUTION,
  /** Age up to which results of calls that only read are given again, in milliseconds; 300,000 by default. Only with `corrects`. */
  maxAgeMs: wholeNumber({ min: 0 }),
  /** Language of the program, JavaScript by default. Which languages there are depends on the sandbox. */
  language: withDefault(LANGUAGE, "javascript"),
  /**
   * Schema of what the program returns. A value that does not fit ends the program as `failed` with the code
   * `result_invalid` and a sentence with its path; a value that fits is the report's `value`. It may have `inputBytes`.
   */
  result: RESULT,
  /** Changes to the limits of the runtime. */
  limits: LIMITS_OPTION,
  /** The tools that the program may use, by name: `"crm.find"`, or `"crm.*"` for all below. All of the runtime's by default. */
  tools: option<readonly string[]>('an array of names of tools, like "crm.find" or "crm.*"', isTexts),
  /** The tenant; the runtime's by default. */
  tenant: TENANT,
  /** The host's own value, like the user of a request. Handlers and `approve` get it; a program and a model do not. */
  context: CONTEXT,
  /** Decides about calls that need approval, in place of the runtime's `approve`. */
  approve: APPROVE,
  /** Asked about every call besides the runtime's `policy`: the stricter of both counts. */
  policy: POLICY,
  /** Holds the source of each program for a decision of `approve` before it starts; as the runtime does by default. */
  approvePrograms: flag(),
  /**
   * Whether the program is checked against the declarations of its tools before its first call, as the runtime's
   * `checkPrograms` says; `"off"` by default.
   */
  checkPrograms: withDefault(PROGRAM_CHECK, "off"),
  /** Called with each event of the execution, besides the runtime's `onEvent`. What it throws is ignored. */
  onEvent: listener<(event: ExecutionEvent) => void>(),
  /** Cancels it. */
  signal: abortSignal(),
};

/** Age up to which results of calls that only read are given again, in milliseconds. */
const MAX_AGE_MS = 300_000;

/** The execution that a program corrects, of options that were read. Throws `option_invalid` for an age without it. */
export function correctedBy(
  { corrects, maxAgeMs }: { readonly corrects?: ExecutionId | undefined; readonly maxAgeMs?: number | undefined },
  subject = "execute",
): Correction | undefined {
  if (corrects !== undefined) return { execution: corrects, maxAgeMs: maxAgeMs ?? MAX_AGE_MS };
  if (maxAgeMs === undefined) return undefined;
  throw optionError(`${subject}({ maxAgeMs })`, "the option `corrects` beside it", "none", String);
}

export type ExecuteOptions<Context = unknown, Value = unknown> = WithResult<
  WithContext<OptionsOf<typeof EXECUTE_RULES>, Context>,
  Value
>;

/** `Value` is the type of what the schema gives out, which the report's `value` has. */
export type WithResult<Options, Value> = Omit<Options, "result"> & {
  /**
   * Schema of what the program returns. A value that does not fit ends the program as `failed` with the code
   * `result_invalid` and a sentence with its path; a value that fits is the report's `value`. It may have `inputBytes`.
   */
  readonly result?: Schema<unknown, Value>;
};
