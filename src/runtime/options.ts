import type { Approve } from "../gate/approve/approval.ts";
import type { Policy, PolicyName } from "../gate/approve/policy.ts";
import { LOGGER } from "../gate/run/failure-log.ts";
import type { Fleet } from "./fleet.ts";
import type { Journal } from "../journal/journal.ts";
import {
  isAnyObject,
  withAdvice,
  callbackRule,
  bareFunction,
  callback,
  describe,
  flag,
  listener,
  object,
  option,
  type OptionsOf,
  required,
  wholeNumber,
  withDefault,
  abortSignal,
  isFields,
  jsonTextOf,
  oneOf,
  pick,
  words,
} from "../base/index.ts";
import type { ExecutionEvent } from "../executions/event.ts";
import {
  APPROVE,
  POLICY,
  PROGRAM_CHECK,
  TENANT,
  CONTEXT,
  LANGUAGE,
  type WithContext,
} from "../executions/execute-options.ts";
import { LIMITS_OPTION } from "../executions/limits.ts";
import { REDACT } from "../journal/redaction/redact-option.ts";
import { redactSecrets } from "../journal/redaction/redact-secrets.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { SearchFilter } from "../tools/search/tool-search.ts";
import type { Embed } from "../tools/search/tool-vectors.ts";
import { TELEMETRY } from "../gate/telemetry/options.ts";
import { TOOLS_OPTION, type ToolsOption } from "../tools/current-tools.ts";
import { PLACES_OPTION } from "./work-under-way.ts";
import type { ClientResult, Decision } from "../executions/decide.ts";
import { type Caller, CALLERS } from "../tools/tool.ts";

export const JOURNAL = withAdvice(
  option<Journal>("a journal: create, append, read, find, list and renew", isJournal),
  (value) =>
    typeof value === "string"
      ? `For a file write createSqliteJournal({ path: ${describe(value)} }), imported from "portcullis".`
      : undefined,
);
const LISTENER = listener<(event: ExecutionEvent) => void>();

/** How tools are found if there are too many to be listed. */
export const SEARCH_RULES = {
  /** Gives a vector for each text. Searches then go by meaning too: tools are ranked by words and by vectors, and both count. */
  embed: callbackRule(bareFunction<Embed>(), "quoting"),
  /** Whether a tool may be found by this caller of this tenant. It is asked at each search, and does not keep a tool from being called. */
  filter: callback<SearchFilter>(),
};

export type SearchOptions = OptionsOf<typeof SEARCH_RULES>;

export const RUNTIME_RULES = {
  /**
   * The tools that programs and models may call, or a function that returns those that there are now. It is asked at the
   * beginning of each execution and conversation, which keep them.
   */
  tools: required(TOOLS_OPTION),
  /** Where programs run: `"isolate"` by default. The caller disposes of a sandbox that it passes in. */
  sandbox: option<"isolate" | "docker" | Sandbox>(`"isolate", "docker" or a sandbox`, isSandboxOption),
  /**
   * How many executions, conversations and calls run at once, `{ concurrency, perTenant, queued }`; unbounded by default. Further
   * ones wait, tenants in turn, up to `queued` (1,000 by default); after that they are refused with `busy`.
   */
  executions: PLACES_OPTION,
  /** Changes to the default limits. */
  limits: LIMITS_OPTION,
  /** Decides calls that need approval. */
  approve: APPROVE,
  /**
   * Asked about every call of every caller, after the tool's own rules, which it cannot loosen: a function that answers
   * `"allow"`, `"ask"` or `{ deny: "reason" }`; or `"ask-writes"`, `"ask-changes"` or `"ask-all"`, which ask for approval.
   */
  policy: POLICY,
  /**
   * Holds the source of each program for a decision of `approve` before it starts: a request for the tool `run_program` with
   * the input `{ source, language }`. False by default. Programs that run at a provider are not held.
   */
  approvePrograms: withDefault(flag(), false),
  /**
   * Whether a JavaScript or TypeScript program that a model wrote is checked against the declarations of its tools before its
   * first call: in conversations, in loops of other packages, over MCP and HTTP. `"refuse"` (default): a program with calls
   * that would be refused ends before any of them, with all that is wrong, and a field that no result has is a note of its
   * report. `"warn"`: all is notes. `"off"`: no check. Needs the package `typescript` 7, and is not made without it.
   */
  checkPrograms: withDefault(PROGRAM_CHECK, "refuse"),
  /** Where executions are recorded: in memory by default. */
  journal: JOURNAL,
  /** The fleet that it belongs to (`createFleet`), whose journal it has in place of one of its own. */
  fleet: option<Fleet>("a fleet: createFleet({ journal })", isFleet),
  /**
   * Finds what must not leave: to a model, into the journal, to logs. `redactSecrets()` is one. Programs compute with values
   * as they are.
   */
  redact: withAdvice({ ...REDACT, accepts: (value) => REDACT.accepts(value) && value !== redactSecrets }, (value) =>
    value === redactSecrets ? "Call it: redact: redactSecrets()." : undefined,
  ),
  /**
   * Spans and metrics for OpenTelemetry, wherever an SDK is registered in the process: `{ capture: ["inputs", "results",
   * "programs"] }` says which contents spans have, none by default; false records nothing.
   */
  telemetry: TELEMETRY,
  /** Tenant of executions without a tenant of their own; `"default"` by default. Programs of different tenants never share a process. */
  tenant: TENANT,
  /**
   * Bytes that all executions together may hold in this process's memory: texts of guests, inputs and results. By
   * default a quarter of V8's heap limit or of the available memory, whichever is less. Below 1 MiB no program can start.
   */
  heldBytes: wholeNumber({ min: 1024 * 1024 }),
  /**
   * How long another driver must wait before it may take over an execution whose driver has died, in milliseconds; 15
   * seconds by default. A driver renews its lease three times in that time.
   */
  leaseMs: wholeNumber({ min: 100, max: 86_400_000, default: 15_000 }),
  /** Called with each event of an execution. What it throws is ignored. */
  onEvent: LISTENER,
  /**
   * Told of each handler that failed, with its error: pino, console or any object with `error`. Without it these
   * failures go to `console.error`, also if there is an `onEvent`.
   */
  logger: LOGGER,
  /**
   * Maximum tokens of the declaration of `run_program` with the stubs of all tools that programs may call; 1,500 by
   * default. Above it, a model is told their namespaces, and finds tools by `search_tools` and `searchTools`.
   */
  stubTokens: wholeNumber({ min: 1 }),
  /** How tools are searched for. */
  search: object<SearchOptions>(),
  /**
   * Whether it is learned from results what they are like, for tools that declare no `outputSchema`: models and programs are
   * shown their types then. Shapes alone are held, in memory and for each tenant apart. True by default with
   * a journal that outlives the process.
   */
  observeResults: flag(),
};

/** `Context` is the type of the `context` that executions, conversations and calls pass to handlers and to `approve`. */
export type RuntimeOptions<Context = unknown> = Omit<
  OptionsOf<typeof RUNTIME_RULES>,
  "tools" | "approve" | "policy"
> & {
  /** The tools that programs and models may call, or a function that returns those that there are now. */
  readonly tools: ToolsOption<Context>;
  /** Decides calls that need approval. */
  readonly approve?: Approve<Context>;
  /**
   * Asked about every call of every caller, after the tool's own rules, which it cannot loosen: a function that answers
   * `"allow"`, `"ask"` or `{ deny: "reason" }`; or `"ask-writes"`, `"ask-changes"` or `"ask-all"`, which ask for approval.
   */
  readonly policy?: Policy<Context> | PolicyName;
};

function isSandboxOption(value: unknown): boolean {
  if (value === "isolate" || value === "docker") return true;
  return isAnyObject(value) && "open" in value && typeof value.open === "function";
}

function isJournal(value: unknown): boolean {
  if (!isAnyObject(value)) return false;
  const { create, append, read, find, list, renew } = value as Partial<Journal>;
  return [create, append, read, find, list, renew].every((method) => typeof method === "function");
}

function isFleet(value: unknown): boolean {
  return isAnyObject(value) && "figures" in value && "startWorker" in value;
}

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
  tools: TOOLS_OPTION,
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
  readonly tools?: ToolsOption<Context>;
};

const byCallId = <Value>(expected: string) =>
  option<Readonly<Record<string, Value>>>(expected, (value) => isFields(value) && Object.keys(value).length > 0);

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
    (value) => typeof value === "string" && value.length > 0 && value.length <= 256,
  ),
  /** Decides about calls that need approval, in place of the runtime's `approve`. */
  approve: APPROVE,
  /** Cancels it. */
  signal: abortSignal(),
};

export type CallOptions<Context = unknown> = WithContext<OptionsOf<typeof CALL_RULES>, Context>;
