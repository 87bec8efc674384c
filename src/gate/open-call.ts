import { hash } from "node:crypto";
import type { CallRecord, DecisionRecord, ResultRecord, RetryRecord, ShownDefinition } from "../journal/record.ts";
import { effectOfCall, graverEffect } from "../tools/effect.ts";
import type { AllowedQuestion, CallContext, Caller, Effect, Tool } from "../tools/tool.ts";
import type { ContentPart } from "../tools/content.ts";
import type { Approval, Approve } from "./approval.ts";
import type { Redactor } from "../redaction/redactor.ts";
import type { CallSpan, Telemetry } from "../telemetry/telemetry.ts";
import type { ResultLimits } from "../values/result-text.ts";
import type { Budget } from "./budget.ts";
import type { CallLine } from "./call-line.ts";
import { WaitClock } from "./wait-clock.ts";

export interface CallRequest {
  /** Unique in the session. */
  readonly callId: string;
  readonly tool: string;
  readonly caller: Caller;
  /** JSON text. */
  readonly inputText: string;
  /** Of a value that a program keeps: its name. The text is the value. */
  readonly artifact?: string | undefined;
}

/** Result of a task whose call ended first. */
export const OVER = Symbol("over");

const NO_SCOPE: WorkScope = { tenant: "" };

/** A call without its input. */
export type CallIdentity = Omit<CallRequest, "inputText" | "artifact">;

/** What the journal says of a call that another driver has left open. */
export interface PastCall {
  readonly decided?: CallRecord | undefined;
  readonly decision?: DecisionRecord | undefined;
  readonly result?: ResultRecord | undefined;
  readonly retried?: RetryRecord | undefined;
}

/** A call that was accepted and has no answer yet. */
export class OpenCall {
  readonly tool: Tool;
  readonly identity: CallIdentity;
  /** Of a value that a program keeps: its name. */
  readonly artifact: string | undefined;
  readonly since = performance.now();
  /** Whether a decision about it was appended to the journal. */
  decided = false;
  /** Undefined until the call is known to need approval. */
  approval: Approval | undefined;
  /** For the operator: what went wrong beside the call, like the tool's `approval` function, or a question of its handler that had no answer. The call went on. */
  noticed: unknown;
  /** What it changes. Where that depends on its input, a `write` until its input is read. */
  effect: Effect;
  /** What an earlier driver was told that it changes. */
  effectBefore: Effect | undefined;
  /** Number of the attempt that is under way, or comes next. */
  attempt = 1;
  /** Whether it counts in the budget of calls. */
  isCounted = false;
  /** Whether its handler was started. */
  started = false;
  /** Set if the call was dropped. Resolves once the journal holds that record. */
  dropped: Promise<unknown> | undefined;
  /** Of a search: the definitions that it showed. */
  shown: readonly ShownDefinition[] | undefined;
  /** What its handler has said to people, as JSON text. */
  display: string | undefined;
  /** Images, files and links of its result. */
  parts: readonly ContentPart[] | undefined;
  /** Where something records. */
  span: CallSpan | undefined;
  /** Bytes held for its parsed input. */
  inputBytes = 0;
  #approvalClock: WaitClock | undefined;
  #inputText: string;
  #inputDigest: string | undefined;
  #abort: AbortController | undefined;
  #over: string | Error | undefined;
  #late: string | undefined;
  #onOver: (() => void) | undefined;
  #onLate: (() => void) | undefined;

  constructor(tool: Tool, { callId, tool: name, caller, inputText, artifact }: CallRequest) {
    this.tool = tool;
    this.effect = tool.effect;
    this.artifact = artifact;
    this.identity = { callId, tool: name, caller };
    this.#inputText = inputText;
  }

  /** JSON text; empty once the call is over, because a queue may keep the call for long. */
  get inputText(): string {
    return this.#inputText;
  }

  /** Asks what it changes, now that its input is read. It changes no less than an earlier driver was told. */
  readEffect(input: unknown): void {
    const { effect, error } = effectOfCall(this.tool, input);
    this.effect = graverEffect(effect, this.effectBefore);
    this.noticed ??= error;
  }

  /** The time in which the work that its handler started waited for nothing but approvals. */
  get approvalClock(): WaitClock {
    return (this.#approvalClock ??= new WaitClock());
  }

  /** Milliseconds of that time, which is no part of the handler's own. */
  get approvalMs(): number {
    return this.#approvalClock?.ms ?? 0;
  }

  get inputDigest(): string {
    return (this.#inputDigest ??= hash("sha256", this.#inputText));
  }

  /** Whether the call has ended and its answer is no longer needed. */
  get isOver(): boolean {
    return this.#over !== undefined;
  }

  /** Aborted when the answer is no longer needed. Created on first use, because most handlers never read it. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    const reason = this.#late ?? this.#over;
    if (reason !== undefined) this.#abort.abort(errorOf(reason));
    return this.#abort.signal;
  }

  /** Whether a handler or an approver works on the call, or has its signal. */
  get isUnderWay(): boolean {
    return this.started || this.#abort !== undefined;
  }

  /** Ends the call and aborts the work on it: its answer is no longer needed. An agent that works on it reads the reason. */
  end(reason: string | Error): void {
    if (this.#over !== undefined) return;
    this.#over = reason;
    // A running handler may still read its idempotency key, which needs the digest.
    if (this.started) void this.inputDigest;
    this.#inputText = "";
    this.#abort?.abort(errorOf(reason));
    this.#onOver?.();
  }

  /** Aborts a handler that took too long. The call stays open until its failure is the answer. */
  endHandler(reason: string): void {
    if (this.#over !== undefined || this.#late !== undefined) return;
    this.#late = reason;
    this.#abort?.abort(new Error(reason));
    this.#onLate?.();
  }

  /** The handler's result, or OVER as soon as the handler or the call is ended. */
  orEnded<Value>(handler: () => Value | Promise<Value>): Promise<Value | typeof OVER> {
    return new Promise((resolve, reject) => {
      this.#onLate = () => resolve(OVER);
      this.#race(handler, resolve, reject);
    });
  }

  /** The task's result, or OVER as soon as the call has ended. Then the task is not awaited, and its error is ignored. */
  orOver<Value>(task: () => Value | Promise<Value>): Promise<Value | typeof OVER> {
    return new Promise((resolve, reject) => this.#race(task, resolve, reject));
  }

  /** One promise for both outcomes, because this runs twice for every call. What the task throws rejects it. */
  #race<Value>(
    task: () => Value | Promise<Value>,
    resolve: (value: Value | typeof OVER) => void,
    reject: (error: unknown) => void,
  ): void {
    if (this.#over !== undefined) return resolve(OVER);
    const outer = this.#onOver;
    this.#onOver = () => {
      outer?.();
      resolve(OVER);
    };
    const running = task();
    if (running instanceof Promise) running.then(resolve, reject);
    else resolve(running);
  }

  /** The handler's second argument. */
  contextIn(execution: string, scope: WorkScope = NO_SCOPE, origin?: ParentSession): CallContext {
    return new HandlerContext(this, execution, scope, origin);
  }
}

/** Thousands of calls may end at once, and few of them are asked why. */
function errorOf(reason: string | Error): Error {
  return typeof reason === "string" ? new Error(reason) : reason;
}

/** Who a session's calls are made for, in the host's terms. A program knows nothing of it. */
export interface WorkScope {
  readonly tenant: string;
  /** The host's own value, for handlers and approvers. The gate does not read it. */
  readonly context?: unknown;
  /** Decides about calls that need approval. Without it they are denied. */
  readonly approve?: Approve | undefined;
  /** Takes out of texts what must not leave; undefined where all may. */
  readonly redactor?: Redactor | undefined;
  /** Undefined where nothing records spans or metrics. */
  readonly telemetry?: Telemetry | undefined;
}

/** Work that a call has started, with calls of its own. */
export interface WorkBelow {
  /** Whether it waits for approvals and for nothing else. */
  readonly waitsForApproval: boolean;
}

/** A call's session, for a tool that is itself an agent. */
export interface ParentSession {
  readonly budget: Budget;
  readonly scope: WorkScope;
  readonly limits: ResultLimits;
  readonly note: (line: CallLine) => void;
  /** Asks the approver a question of an open call's handler. */
  readonly ask: (call: OpenCall, question: unknown) => Promise<AllowedQuestion | false>;
  /** Registers work that one of the session's calls has started. Returns the function that ends it. */
  readonly beginBelow: (callId: string, work: WorkBelow) => () => void;
}

/** The call that started an execution or a conversation. */
export interface ParentCall {
  readonly session: ParentSession;
  readonly execution: string;
  readonly callId: string;
  /** Whether it may end its own driving to wait, if what it has started waits; false by default. */
  readonly canWait?: boolean;
}

/** The session of a handler's call; undefined for a context that no gate has made. */
export function originOf(context: CallContext): ParentSession | undefined {
  return context instanceof HandlerContext ? HandlerContext.originOf(context) : undefined;
}

/** A class, because creating an object literal with a getter takes ten times as long. */
class HandlerContext implements CallContext {
  readonly execution: string;
  readonly callId: string;
  readonly caller: Caller;
  readonly effect: Effect;
  readonly tenant: string;
  readonly context: unknown;
  readonly #call: OpenCall;
  readonly #origin: ParentSession | undefined;

  constructor(call: OpenCall, execution: string, { tenant, context }: WorkScope, origin: ParentSession | undefined) {
    this.#call = call;
    this.#origin = origin;
    this.execution = execution;
    this.callId = call.identity.callId;
    this.caller = call.identity.caller;
    this.effect = call.effect;
    this.tenant = tenant;
    this.context = context;
  }

  static originOf(context: HandlerContext): ParentSession | undefined {
    return context.#origin;
  }

  get resultBytes(): number {
    return this.#origin?.limits.resultBytes ?? Number.POSITIVE_INFINITY;
  }

  get resultValues(): number {
    return this.#origin?.limits.resultValues ?? Number.POSITIVE_INFINITY;
  }

  /** A getter, because most handlers never ask. */
  get ask(): CallContext["ask"] {
    return async (question) => (await this.#origin?.ask(this.#call, question)) ?? false;
  }

  get idempotencyKey(): string {
    // Ids of executions are chosen by callers and may have colons: those of calls must not, or two calls could have one key.
    const callId = this.callId.replaceAll("%", "%25").replaceAll(":", "%3A");
    return `${this.execution}:${callId}:${this.#call.inputDigest}`;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }
}
