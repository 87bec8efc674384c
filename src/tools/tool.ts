import {
  callbackRule,
  callback,
  type ExecutionId,
  flag,
  isTexts,
  object,
  oneOf,
  option,
  type OptionsOf,
  required,
  type CheckedOptions,
  wholeNumber,
  wholeNumberOrInfinity,
  withDefault,
  words,
} from "../base/index.ts";
import type { JsonSchema } from "./json-schema/json-schema.ts";
import { isSchema, type Schema } from "./schema.ts";
import type { TextFormat } from "./text-format.ts";

/** The caller: the model itself (`direct`), or a program that it wrote (`programmatic`). Providers use the same words. */
export type Caller = "direct" | "programmatic";
export const CALLERS: readonly Caller[] = ["direct", "programmatic"];

/**
 * What a call changes. `read` changes nothing. `idempotent` changes something, and repeating it changes nothing more.
 * `write` changes something each time.
 */
export type Effect = "read" | "idempotent" | "write";
export const EFFECTS: readonly Effect[] = ["read", "idempotent", "write"];

/** For whom a tool may exist. */
export interface ToolAudience<Context = unknown> {
  readonly tenant: string;
  /** Name of the conversation's model, like `anthropic:claude-sonnet-4-5`; undefined outside of a conversation. */
  readonly model: string | undefined;
  /** The `context` of the execution, conversation or call; undefined if none was given. */
  readonly context: Context;
}

/** The approval of a question, with the values that `approve` gave for what was asked for. */
export interface AllowedQuestion {
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Where a stream goes on that another process of the host had begun. */
export interface StreamPosition {
  /** Number of items that the program has been given. */
  readonly items: number;
  /** The last of them, as JSON gives it back; undefined if the journal does not keep it. */
  readonly last: unknown;
}

/** A handler's second argument. `Context` is the type of the `context` that the host passes with an execution. */
export interface CallContext<Context = unknown> {
  /** Aborted when the answer is no longer needed: the execution ended, or the call took too long. */
  readonly signal: AbortSignal;
  /** Id of the execution or conversation that made the call. */
  readonly execution: ExecutionId;
  /** Id of the call, unique in its execution. */
  readonly callId: string;
  /** The same for every repetition of the same call with the same input: `execution:call:digest`, or `key:digest` if its maker has given a key. `digest` is the SHA-256 of the input as it was sent. */
  readonly idempotencyKey: string;
  readonly caller: Caller;
  /** What this call changes: the tool's `effect`, or what its function says of the input. */
  readonly effect: Effect;
  /** Tenant of the execution or conversation. */
  readonly tenant: string;
  /**
   * Bytes that the result may have as JSON. A handler that sees that its result has more can give it up with a
   * `PortcullisError` with code `result_too_large`.
   */
  readonly resultBytes: number;
  /** Values that the result may hold. */
  readonly resultValues: number;
  /**
   * Asks the host's `approve` a question that came up while the handler runs. The request has the question, a JSON
   * value, as `input`. Resolves with the approval, or with false: if `approve` is missing, declines, or leaves the
   * decision for later, and after the call has ended. Neither the question nor the decision is journalled.
   */
  readonly ask: (question: unknown) => Promise<AllowedQuestion | false>;
  /**
   * Whether a result of a tool of the same source has named this address, in this execution or one that started it. Sources
   * read nothing else for programs.
   */
  readonly isNamed: (address: string) => boolean;
  /** The `context` of the execution, conversation or call; undefined if none was given. */
  readonly context: Context;
  /** Of a tool with `stream`, if its host died while the stream was read: yield the items after these. Undefined else. */
  readonly previous?: StreamPosition | undefined;
}

export const ALLOWED_CALLERS = required(
  option<readonly Caller[]>(
    `a list of ${CALLERS.map((caller) => `"${caller}"`).join(" and ")}, at least one`,
    isCallerList,
  ),
);
/** Bounds of a handler's timeout, in milliseconds. */
export const TIMEOUT_MS = { min: 1, max: 2 ** 31 - 1 } as const;

export const RETRY_RULES = {
  /** Attempts in all, the first one included. */
  attempts: required(wholeNumber({ min: 2, max: 10 })),
  /** Wait before the second attempt, in milliseconds; 200 by default. It doubles before each further attempt. */
  delayMs: wholeNumber({ min: 0, max: 3_600_000, default: 200 }),
  /** Whether a call is made again after this error. By default after every error but a `tool_failed` and a result that is too large. */
  on: callback<(error: unknown) => boolean>(),
};

export const RATE_RULES = {
  /** Calls that may start in `perMs`. */
  calls: required(wholeNumber({ min: 1 })),
  /** The span, in milliseconds. */
  perMs: required(wholeNumber(TIMEOUT_MS)),
};

/** Rules of a tool's options. `TypedOptions` refines the types that depend on the tool's schemas. */
export const TOOL_RULES = {
  /** Programs call the tool as `tools.` and this name: identifiers with dots between, like `billing.listInvoices`. */
  name: required(words("a name")),
  /** For the model: what the tool returns and when to use it. */
  description: required(words("a string that tells the model what the tool does")),
  /** Schema of the input: an object with named fields. */
  inputSchema: required(
    option<Schema>(
      "a schema that can give its JSON Schema (z.object() of zod 4, arktype, or jsonSchema() around a plain one)",
      isSchema,
    ),
  ),
  /** Schema of the result, or of one item of a stream. If the schema's library drops unknown fields, they do not reach the program. */
  outputSchema: option<Schema>("a schema that can give its JSON Schema, or nothing", isSchema),
  /**
   * Whether the handler gives items one at a time, as an async generator does: a result of any size. A program reads
   * them with `for await (const item of tools.name({ … }))`. A model that calls the tool directly gets an array.
   */
  stream: flag(),
  /**
   * How a stream goes on whose host died. `"continue"` (default): the handler is called with `previous`, which has the number
   * of items that are journalled and the last of them, and yields the items that follow. `"from-start"`, or if the handler
   * does not read `previous`: it yields all items again, and the stream fails with `stream_changed` if the first are not those
   * that are journalled.
   */
  resumes: oneOf(["continue", "from-start"]),
  /** Which callers may call the tool. There is no default. */
  allowedCallers: ALLOWED_CALLERS,
  /**
   * What a call changes: nothing (`"read"`), the same when repeated (`"idempotent"`), something each time (`"write"`);
   * or a function of the input. `"write"` by default. If the function throws, or gives something else, the call counts as
   * a write.
   */
  effect: withDefault(
    callbackRule(
      option<Effect | ((input: unknown) => Effect)>(
        `${EFFECTS.map((one) => `"${one}"`).join(", ")} or a function of the input`,
        (value) => typeof value === "function" || oneOf(EFFECTS).accepts(value),
      ),
    ),
    "write",
  ),
  /** Whether a call needs approval: `"never"` (default), `"always"`, or by its input: a call runs without only if the function answers `false`. */
  approval: withDefault(
    callbackRule(
      option<"never" | "always" | ((input: unknown) => boolean | Promise<boolean>)>(
        `"never", "always" or a function of the input`,
        (value) => value === "never" || value === "always" || typeof value === "function",
      ),
    ),
    "never",
  ),
  /**
   * What happens to a field of a call's input, at any depth, that the JSON Schema of `inputSchema` does not know. The call is
   * refused (default), or the field is passed on to `inputSchema`, which may drop it. An object that the schema declares to
   * be open takes any field.
   */
  unknownFields: withDefault(oneOf(["refuse", "allow"]), "refuse"),
  /**
   * Calls at once over all executions of a runtime; unlimited by default. It counts calls, not handlers: a call counts
   * from when its input is read until it has an answer, also between attempts. A call that was given up, or took too
   * long, counts no longer, even if its handler ignores the signal and still runs. A stream counts until it ends: a program
   * that reads two of one tool side by side needs 2.
   */
  concurrency: wholeNumberOrInfinity({ min: 1, default: Infinity }),
  /**
   * Makes a call again if its handler throws: `{ attempts, delayMs, on }`. For calls that read or are idempotent,
   * within `timeoutMs`, under one idempotency key. Each failed attempt is journalled.
   */
  retry: object<OptionsOf<typeof RETRY_RULES>>(),
  /**
   * Calls that may start in a span of time, `{ calls, perMs }`, over all executions of a runtime. Further calls wait,
   * tenants in turn; this wait is no part of `timeoutMs`.
   */
  rate: object<OptionsOf<typeof RATE_RULES>>(),
  /**
   * Whether the tool exists in an execution, a conversation or a call: a function of `{ tenant, model, context }`,
   * asked when each begins or is taken up. If it throws, or gives anything but true, the tool does not exist there.
   */
  enabled: callback<(audience: ToolAudience) => boolean>(),
  /** Timeout of the handler, in milliseconds, all its attempts together; a minute by default. */
  timeoutMs: wholeNumber({ ...TIMEOUT_MS, default: 60_000 }),
  /**
   * Runs a call, or `"client"` for a tool whose calls are answered from outside this process, by `runtime.execution(id).answer`. Its
   * result must be JSON, or `content()` with more than that; with `stream` an iterable of items. Its errors stay on the host, and the program sees only that the tool failed; a
   * `PortcullisError` with code `tool_failed` passes its message to the program.
   */
  execute: required(
    option<"client" | ((input: unknown, context: CallContext) => unknown)>(
      `a function, or "client"`,
      (value) => value === "client" || typeof value === "function",
    ),
  ),
  /**
   * What becomes of a `write` whose host died while the handler ran: a person is asked (`"ask"`, default), it is run
   * again (`"retry"`), or the program gets `outcome_unknown` (`"fail"`).
   */
  onUnknown: withDefault(oneOf(["ask", "retry", "fail"]), "ask"),
  /** Words by which the tool is searched for, beside its name and description. */
  tags: option<readonly string[]>("an array of non-blank strings", isWordList),
  /** How and when to use the tool, for the system text of a conversation that has it: more than its description can say. */
  instructions: words(),
  /** Whether models are told of the tool even if the tools are too many to be listed; false by default. */
  pinned: flag(),
  /**
   * Whether a model that may call the tool directly is told of it only when it has searched for it. By default if the
   * direct tools of a conversation are many and the tool is not pinned.
   */
  defer: flag(),
  /** Where results of the tool come from, for the model and the transcript: the name of a source. Missing for the host's own tools. */
  source: words("the name of a source"),
};

/**
 * A function that a model or its programs may call. Made by `defineTool`, whose types match `execute` with `inputSchema`. A
 * tool whose handler reads no `context` is a `Tool<unknown>`, which can be used in every runtime.
 */
export interface Tool<Context = unknown>
  extends
    Pick<
      CheckedOptions<typeof TOOL_RULES>,
      "name" | "description" | "inputSchema" | "allowedCallers" | "concurrency" | "timeoutMs" | "onUnknown"
    >,
    Pick<
      OptionsOf<typeof TOOL_RULES>,
      "source" | "resumes" | "unknownFields" | "enabled" | "tags" | "instructions" | "pinned" | "defer"
    > {
  /** Where its calls run, if not in a handler here or at a client: `agent`, `mcp NAME`, `openapi NAME`. `placeOfTool` tells it of any tool. */
  readonly place?: string;
  /** Who answers there, in its own words, like `crm-server 1.4 (MCP 2025-11-25)`. */
  readonly answeredBy?: () => string;
  readonly outputSchema: Schema | undefined;
  /** What its results were like, as models are shown it: without `outputSchema`, or where a number of it came as text. No tool is made with it. */
  readonly observed?: ObservedOutput;
  /** Of a tool of `defineTextTool`, whose input is one text: which texts it takes. */
  readonly textFormat?: TextFormat;
  /** Set if the handler gives an iterable of items, which a program reads as a stream. `outputSchema` is then the schema of one item. */
  readonly stream?: true;
  /** What a call changes; `write` if that depends on the input (`effectOf`). */
  readonly effect: Effect;
  /** What a call with this input changes. `effectOfCall` asks it. */
  readonly effectOf?: (input: unknown) => Effect;
  /** Whether any call may need approval. */
  readonly approvable: boolean;
  /** Whether a call with this input needs approval before it runs. */
  readonly needsApproval: (input: unknown) => boolean | Promise<boolean>;
  readonly retry?: Retry;
  readonly rate?: CheckedOptions<typeof RATE_RULES>;
  /** `"client"`: the call is answered from outside this process, by `runtime.execution(id).answer`. */
  readonly execute: "client" | ((input: unknown, context: CallContext<Context>) => unknown);
}

/** What its results were like, of a stream its items. */
interface ObservedOutput {
  readonly schema: JsonSchema;
  /** Number of results. */
  readonly results: number;
}

/** How a call is made again if its handler throws. Each wait is up to a quarter shorter, by chance. */
export type Retry = CheckedOptions<typeof RETRY_RULES>;

/** Rule of a tool whose every call needs approval. */
export const needsApprovalAlways = (): boolean => true;

function isWordList(value: unknown): boolean {
  return isTexts(value) && value.every((word) => word.trim() !== "");
}

function isCallerList(value: unknown): value is readonly Caller[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    new Set(value).size === value.length &&
    value.every((caller) => CALLERS.includes(caller as Caller))
  );
}

/** Field of `_meta` in which a client of MCP says what a call and its repetitions have in common. */
export const IDEMPOTENCY_META = "portcullis/idempotencyKey";
