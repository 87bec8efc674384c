import type { ExecutionId } from "../journal/execution-id.ts";
import type { ObservedOutput } from "./observed/observed-output.ts";
import type { Schema } from "./schema.ts";
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

/**
 * What becomes of a call that changes something each time if its host died while the handler ran. `ask`: a person
 * decides. `retry`: the handler runs again, with the same idempotency key. `fail`: the program gets `outcome_unknown`.
 */
export type OnUnknown = "ask" | "retry" | "fail";
export const ON_UNKNOWN: readonly OnUnknown[] = ["ask", "retry", "fail"];

/** How a call is made again if its handler throws, within the tool's `timeoutMs`. */
export interface Retry {
  /** Attempts in all, the first one included. */
  readonly attempts: number;
  /** Wait before the second attempt, in milliseconds, doubled before each further attempt. Each wait is up to a quarter shorter, by chance. */
  readonly delayMs: number;
  /** Whether a call is made again after this error. */
  readonly on?: (error: unknown) => boolean;
}

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

/** How a stream goes on whose host died: after the last item that is journalled, or from its first item again. */
type Resumes = "after" | "from-start";
export const RESUMES: readonly Resumes[] = ["after", "from-start"];

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
  readonly after?: StreamPosition | undefined;
}

/**
 * A function that a model or its programs may call. Made by `defineTool`, whose types match `handler` with `input`. A
 * tool whose handler reads no `context` is a `Tool<unknown>`, which can be used in every runtime.
 */
export interface Tool<Context = unknown> {
  readonly name: string;
  readonly description: string;
  /** Name of the source that it comes from; undefined for the host's own. */
  readonly source?: string;
  /** Where its calls run, if not in a handler here or at a client: `agent`, `mcp NAME`, `openapi NAME`. `placeOfTool` tells it of any tool. */
  readonly place?: string;
  readonly input: Schema;
  readonly output: Schema | undefined;
  /** What its results were like, of a tool without `output` as models are shown it. No tool is made with it. */
  readonly observed?: ObservedOutput;
  /** Of a tool of `defineTextTool`, whose input is one text: which texts it takes. */
  readonly textFormat?: TextFormat;
  /** Set if the handler gives an iterable of items, which a program reads as a stream. `output` is then the schema of one item. */
  readonly stream?: true;
  /** How such a stream goes on whose host died; `"after"` by default. */
  readonly resumes?: Resumes;
  /** Whether a call with a field that `input` does not know is refused, as by default, or passed on to `input`. */
  readonly unknownFields?: "refuse" | "allow";
  readonly allowedCallers: readonly Caller[];
  /** What a call changes; `write` if that depends on the input (`effectOf`). */
  readonly effect: Effect;
  /** What a call with this input changes. `effectOfCall` asks it. */
  readonly effectOf?: (input: unknown) => Effect;
  /** Whether any call may need approval. */
  readonly approvable: boolean;
  /** Whether a call with this input needs approval before it runs. */
  readonly needsApproval: (input: unknown) => boolean | Promise<boolean>;
  /** Calls at once, over all executions of a runtime. */
  readonly concurrency: number;
  /** Attempts of one call if its handler throws. */
  readonly retry?: Retry;
  /** Calls that may start in a span of time, in milliseconds, over all executions of a runtime. */
  readonly rate?: { readonly calls: number; readonly perMs: number };
  /** Whether the tool exists in an execution or a conversation. */
  readonly enabled?: (audience: ToolAudience) => boolean;
  readonly timeoutMs: number;
  /** `"client"`: the call is answered from outside this process, by `runtime.resume`. */
  readonly handler: "client" | ((input: unknown, context: CallContext<Context>) => unknown);
  /** What becomes of a `write` whose host died while the handler ran. */
  readonly onUnknown: OnUnknown;
  /** False: an answer that an earlier execution was given is not given again (`after`); the handler runs for each call. */
  readonly reusable?: boolean;
  /** Words by which the tool is searched for, beside its name and description. */
  readonly tags?: readonly string[];
  /** For the system text of models that may use the tool: how and when to use it. */
  readonly instructions?: string;
  /** Whether a model is always told of the tool, however many there are. */
  readonly pinned?: boolean;
  /** Whether a model that may call the tool directly is told of it only when it has searched for it. */
  readonly defer?: boolean;
}

/** Rule of a tool whose every call needs approval. */
export const needsApprovalAlways = (): boolean => true;
