import { hash } from "node:crypto";
import type { CallContext, Caller, Tool } from "../tools/tool.ts";
import type { Approval } from "./approval.ts";
import type { Budget } from "./budget.ts";
import type { CallLine } from "./call-line.ts";

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

/** Who calls what. */
export type CallIdentity = Omit<CallRequest, "inputText">;

/** A call that has been accepted and has no answer yet. */
export class OpenCall {
  readonly tool: Tool;
  readonly identity: CallIdentity;
  readonly since = performance.now();
  /** Whether the journal has been given what was decided about it. */
  decided = false;
  /** Undefined until it is known to need approval. */
  approval: Approval | undefined;
  /** Whether its handler was started. */
  started = false;
  /** Resolves once the journal has that it was dropped, where it was. */
  dropped: Promise<unknown> | undefined;
  /** Bytes of its parsed input that are held. */
  inputBytes = 0;
  #inputText: string;
  #inputDigest: string | undefined;
  #abort: AbortController | undefined;
  #over: string | undefined;
  #late: string | undefined;
  #onOver: (() => void) | undefined;
  #onLate: (() => void) | undefined;

  constructor(tool: Tool, { callId, tool: name, caller, inputText }: CallRequest) {
    this.tool = tool;
    this.identity = { callId, tool: name, caller };
    this.#inputText = inputText;
  }

  /** JSON text; empty once the call is over, for what still waits for its turn may be kept for long. */
  get inputText(): string {
    return this.#inputText;
  }

  get inputDigest(): string {
    return (this.#inputDigest ??= hash("sha256", this.#inputText));
  }

  /** Whether its answer is of no use any more. */
  get isOver(): boolean {
    return this.#over !== undefined;
  }

  /** Aborted when the answer is of no use any more. Made at its first use: most handlers never read it. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    const reason = this.#late ?? this.#over;
    if (reason !== undefined) this.#abort.abort(new Error(reason));
    return this.#abort.signal;
  }

  /** The answer is of no use any more: aborts the work on it. */
  end(reason: string): void {
    if (this.#over !== undefined) return;
    this.#over = reason;
    // A handler may still ask for its key.
    if (this.started) void this.inputDigest;
    this.#inputText = "";
    this.#abort?.abort(new Error(reason));
    this.#onOver?.();
  }

  /** Its handler has taken too long: tells the handler. The call itself goes on, to an answer that says so. */
  endHandler(reason: string): void {
    if (this.#over !== undefined || this.#late !== undefined) return;
    this.#late = reason;
    this.#abort?.abort(new Error(reason));
    this.#onLate?.();
  }

  /** What a handler comes to, or OVER as soon as it or the call is ended. */
  orEnded<Value>(handler: () => Promise<Value>): Promise<Value | typeof OVER> {
    const ended = new Promise<typeof OVER>((resolve) => {
      this.#onLate = () => resolve(OVER);
    });
    return this.orOver(() => Promise.race([ended, handler()]));
  }

  /** What a task comes to, or OVER as soon as the call is. The task is not waited for then, and what it throws is lost. */
  orOver<Value>(task: () => Promise<Value>): Promise<Value | typeof OVER> {
    return new Promise((resolve, reject) => {
      if (this.#over !== undefined) return resolve(OVER);
      const outer = this.#onOver;
      this.#onOver = () => {
        outer?.();
        resolve(OVER);
      };
      task().then(resolve, reject);
    });
  }

  /** What the handler is told beside its input. */
  contextIn(execution: string, origin?: ParentSession): CallContext {
    return new HandlerContext(this, execution, origin);
  }
}

/**
 * What the work stands on that makes the calls of a session. The gate does not read it: it hands it to handlers, for a
 * tool that is itself an agent.
 */
export interface WorkScope {
  readonly tenant: string;
}

/** A call's session, for a tool that is itself an agent. */
export interface ParentSession {
  readonly budget: Budget;
  readonly scope: WorkScope | undefined;
  readonly note: (line: CallLine) => void;
}

/** Where a handler's call came from; undefined for a context that no gate has made. */
export function originOf(context: CallContext): ParentSession | undefined {
  return context instanceof HandlerContext ? HandlerContext.originOf(context) : undefined;
}

/** A class, because an object literal with a getter takes ten times as long to make. */
class HandlerContext implements CallContext {
  readonly execution: string;
  readonly callId: string;
  readonly caller: Caller;
  readonly #call: OpenCall;
  readonly #origin: ParentSession | undefined;

  constructor(call: OpenCall, execution: string, origin: ParentSession | undefined) {
    this.#call = call;
    this.#origin = origin;
    this.execution = execution;
    this.callId = call.identity.callId;
    this.caller = call.identity.caller;
  }

  static originOf(context: HandlerContext): ParentSession | undefined {
    return context.#origin;
  }

  get idempotencyKey(): string {
    return `${this.execution}:${this.callId}:${this.#call.inputDigest}`;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }
}
