import type { CallContext, Caller, Tool } from "../tools/tool.ts";
import type { Budget } from "./budget.ts";

/** One call in a report. */
export interface CallLine {
  readonly callId: string;
  readonly tool: string;
  readonly caller: Caller;
  /** Milliseconds from the call to its answer. */
  readonly ms: number;
  /** Of the result's JSON text. */
  readonly bytes: number;
  /** Kind of result, like `array of 200`; or the code of the refusal or failure; or `aborted`. */
  readonly result: string;
  /** Whether it got a value. */
  readonly ok: boolean;
  /** Whether its handler was started: what then changed may have changed, whatever came of it. */
  readonly started: boolean;
}

export interface CallRequest {
  /** Unique in the session. */
  readonly callId: string;
  readonly tool: string;
  readonly caller: Caller;
  /** JSON text. */
  readonly inputText: string;
}

/** What a task that was overtaken by the end of its call comes to. */
export const OVER = Symbol("over");

/** A call that has been accepted and has no answer yet. */
export class OpenCall {
  readonly tool: Tool;
  readonly request: CallRequest;
  readonly inputDigest: string;
  readonly since = performance.now();
  /** Whether its handler was started. */
  started = false;
  #abort: AbortController | undefined;
  #over: string | undefined;
  #onOver: (() => void) | undefined;

  constructor(tool: Tool, request: CallRequest, inputDigest: string) {
    this.tool = tool;
    this.request = request;
    this.inputDigest = inputDigest;
  }

  /** Aborted when the answer is of no use any more. Made only when somebody asks for it, which most handlers do not. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#over !== undefined) this.#abort.abort(new Error(this.#over));
    return this.#abort.signal;
  }

  /** The answer is of no use any more: tells whoever works on it. */
  end(reason: string): void {
    if (this.#over !== undefined) return;
    this.#over = reason;
    this.#abort?.abort(new Error(reason));
    this.#onOver?.();
  }

  /** What a task comes to, or OVER as soon as the call is. The task is not waited for then, and what it throws is lost. */
  orOver<Value>(task: () => Promise<Value>): Promise<Value | typeof OVER> {
    return new Promise((resolve, reject) => {
      if (this.#over !== undefined) return resolve(OVER);
      this.#onOver = () => resolve(OVER);
      task().then(resolve, reject);
    });
  }

  /** What the handler is told beside its input. */
  contextIn(execution: string, origin?: Origin): CallContext {
    return new HandlerContext(this, execution, origin);
  }
}

/** A call's session, for a tool that is itself an agent. */
export interface Origin {
  readonly budget: Budget;
  readonly opener: unknown;
  readonly note: (line: CallLine) => void;
}

/** Where a handler's call came from; undefined for a context that no gate has made. */
export function originOf(context: CallContext): Origin | undefined {
  return context instanceof HandlerContext ? HandlerContext.originOf(context) : undefined;
}

/** A class, because an object literal with a getter takes ten times as long to make. */
class HandlerContext implements CallContext {
  readonly execution: string;
  readonly callId: string;
  readonly caller: Caller;
  readonly #call: OpenCall;
  readonly #origin: Origin | undefined;

  constructor(call: OpenCall, execution: string, origin: Origin | undefined) {
    this.#call = call;
    this.#origin = origin;
    this.execution = execution;
    this.callId = call.request.callId;
    this.caller = call.request.caller;
  }

  static originOf(context: HandlerContext): Origin | undefined {
    return context.#origin;
  }

  get idempotencyKey(): string {
    return `${this.execution}:${this.callId}:${this.#call.inputDigest}`;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }
}
