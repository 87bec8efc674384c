import type { ExecutionId } from "../journal/execution-id.ts";
import type { Schema } from "./schema.ts";

/** Who calls: the model itself, or a program that it wrote. The words are the providers' own. */
export type Caller = "direct" | "programmatic";
export const CALLERS: readonly Caller[] = ["direct", "programmatic"];

/**
 * What a call does to the world. `read` changes nothing. `idempotent` changes something, and doing it twice is
 * the same as once. `write` changes something each time.
 */
export type Effect = "read" | "idempotent" | "write";
export const EFFECTS: readonly Effect[] = ["read", "idempotent", "write"];

/** What a handler is told beside its input. */
export interface CallContext {
  /** Aborted when the answer is of no use any more: the execution ended, or the call took too long. */
  readonly signal: AbortSignal;
  /** Id of the execution or conversation that calls. */
  readonly execution: ExecutionId;
  /** Id of the call, unique in its execution. */
  readonly callId: string;
  /** The same for every repetition of the same call with the same input: `execution:call:inputDigest`. */
  readonly idempotencyKey: string;
  readonly caller: Caller;
}

/** A function that a model or its programs may call. Made by `defineTool`; `input` and what `handler` gets have been checked against each other there. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly input: Schema;
  readonly output: Schema | undefined;
  readonly allowedCallers: readonly Caller[];
  readonly effect: Effect;
  /** Whether any call may need approval. */
  readonly approvable: boolean;
  /** Whether a call with this input needs approval before it runs. */
  readonly needsApproval: (input: unknown) => boolean | Promise<boolean>;
  /** Calls at once, over all executions of a runtime. */
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly handler: (input: unknown, context: CallContext) => unknown;
}
