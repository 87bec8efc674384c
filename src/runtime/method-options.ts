import {
  abortSignal,
  flag,
  isFields,
  jsonTextOf,
  oneOf,
  option,
  type OptionsOf,
  pick,
  required,
  wholeNumber,
  withDefault,
  words,
} from "../base/index.ts";
import type { ClientResult, Decision } from "../executions/decide.ts";
import { APPROVE, CONTEXT, LANGUAGE, TENANT, type WithContext } from "../executions/execute-options.ts";
import { LIMITS_OPTION } from "../executions/limits.ts";
import { type Caller, CALLERS } from "../tools/tool.ts";
import { GIVEN_TOOLS, type GivenTools } from "../tools/current-tools.ts";
import { JOURNAL, RUNTIME_RULES } from "./options.ts";

export const SEARCH_TOOLS_RULES = {
  /** Who would call the tools: programs, by default, or a model directly. */
  caller: withDefault(oneOf<Caller>(CALLERS), "programmatic"),
  /** Language of the stubs, JavaScript by default. */
  language: withDefault(LANGUAGE, "javascript"),
  /** The tenant; the runtime's by default. */
  tenant: TENANT,
};

export type SearchToolsOptions = OptionsOf<typeof SEARCH_TOOLS_RULES>;

export const LIST_RULES = {
  /** Only executions without an outcome. */
  open: flag(),
  /** Only executions of this tenant. */
  tenant: TENANT,
  /** Only executions that started before this time, in milliseconds since 1970. */
  before: wholeNumber({ min: 0 }),
};

/** Of `execution`. */
export const OF_TENANT_RULES = {
  /** The tenant of the execution; the runtime's by default. Another tenant's execution is unknown. */
  tenant: TENANT,
};

export const SIGNAL_RULES = {
  /** Gives up: the method rejects with its reason, and nothing is noted. */
  signal: abortSignal(),
};

export type SignalOptions = OptionsOf<typeof SIGNAL_RULES>;

/** A derived runtime inherits the options that are omitted. */
export const DERIVE_RULES = {
  /** The tools that programs and models may call. */
  tools: GIVEN_TOOLS,
  /** Where executions are recorded. */
  journal: JOURNAL,
  ...pick(RUNTIME_RULES, "onEvent", "logger"),
  /** Changes to the limits, of programs and of the calls of `call`. */
  limits: LIMITS_OPTION,
  /** The tenant of executions and calls that name none. */
  tenant: TENANT,
};

export type DeriveOptions<Context = unknown> = Omit<OptionsOf<typeof DERIVE_RULES>, "tools"> & {
  /** The tools that programs and models may call. */
  readonly tools?: GivenTools<Context>;
};

const byCallId = <Said>(expected: string) =>
  option<Readonly<Record<string, Said>>>(expected, (given) => isFields(given) && Object.keys(given).length > 0);

export const DECISIONS = byCallId<Decision>('decisions by call id, like { "1": { allow: true } }');
export const RESULTS = byCallId<ClientResult>('results by call id, like { "1": { value: 4 } }');

export const CALL_RULES = {
  /** Name of the tool. */
  tool: required(words("the name of a tool")),
  /** What the tool is given: a value that is JSON. */
  input: required(option<unknown>("a value that is JSON", (value) => jsonTextOf(value) !== undefined)),
  /** Who makes the call: a model directly, or a program. There is no default. */
  caller: required(oneOf<Caller>(CALLERS)),
  /** The tenant; the runtime's by default. */
  tenant: TENANT,
  /** The host's own value, like the user of a request. Handlers and `approve` get it; a program and a model do not. */
  context: CONTEXT,
  /**
   * Whether the items of a tool with `stream` come as one array, `value`, as a model gets them that calls the tool directly:
   * within the limits of one result. False by default.
   */
  gather: flag(),
  /**
   * What its maker calls this call and its repetitions by. The handler's `idempotencyKey` is then made of this, the tool and
   * the input, in place of the call's own id. Up to 256 characters.
   */
  idempotencyKey: option<string>(
    "a text of 1 to 256 characters",
    (given) => typeof given === "string" && given.length > 0 && given.length <= 256,
  ),
  /** Decides about calls that need approval, in place of the runtime's `approve`. */
  approve: APPROVE,
  /** Cancels it. */
  signal: abortSignal(),
};

export type CallOptions<Context = unknown> = WithContext<OptionsOf<typeof CALL_RULES>, Context>;
