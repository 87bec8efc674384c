import { hash } from "node:crypto";
import PQueue from "p-queue";
import { PortcullisError } from "../errors.ts";
import type { CallRecord } from "../journal/record.ts";
import { issuesText, validate } from "../tools/schema.ts";
import type { CallContext, Caller, Tool } from "../tools/tool.ts";
import { isVisible } from "../tools/tool-set.ts";
import type { Answer } from "./answer.ts";
import { Budget, type GateLimits, type Overdraft } from "./budget.ts";
import type { Gate } from "./gate.ts";
import { readInput } from "./read-input.ts";
import { leastBytes, resultText, resultType } from "./result-text.ts";
import * as sentences from "./sentences.ts";

export interface SessionOptions {
  readonly execution: string;
  /** As whom calls may be made in this session; tools for none of them do not exist here. */
  readonly callers: readonly Caller[];
  readonly limits: GateLimits;
  /** Journals; an `allowed` is awaited before its handler runs. */
  readonly record: (record: CallRecord) => Promise<void>;
  readonly onEvent: (event: CallEvent) => void;
}

export interface CallRequest {
  /** Unique in the session. */
  readonly callId: string;
  readonly tool: string;
  readonly caller: Caller;
  /** JSON text. */
  readonly inputText: string;
}

/** For whoever watches. `error` is for the operator's eyes: it may hold anything. */
export type CallEvent =
  | {
      readonly type: "call_started";
      readonly execution: string;
      readonly callId: string;
      readonly tool: string;
      readonly caller: Caller;
    }
  | { readonly type: "call_ended"; readonly execution: string; readonly line: CallLine; readonly error?: unknown };

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
}

/** A call whose handler runs, or waits to. */
interface Running {
  readonly tool: Tool;
  readonly request: CallRequest;
  readonly since: number;
  /** Made when a handler or an approver asks for its signal. */
  abort?: AbortController;
  /** Why the answer is of no use any more, once it is not. */
  over?: Error;
  giveUp: (() => void) | undefined;
}

/** The calls of one execution or conversation, from the first to its closing. */
export class GateSession {
  readonly lines: CallLine[] = [];
  readonly #gate: Gate;
  readonly #options: SessionOptions;
  readonly #budget: Budget;
  readonly #queue: PQueue;
  readonly #open = new Map<string, Running>();
  #closed = false;
  #overdraft: Overdraft | undefined;

  constructor(gate: Gate, options: SessionOptions) {
    this.#gate = gate;
    this.#options = options;
    this.#budget = new Budget(options.limits);
    this.#queue = new PQueue({ concurrency: options.limits.callsAtOnce });
  }

  get usage(): { readonly calls: number; readonly open: number; readonly resultBytes: number } {
    return { calls: this.#budget.calls, open: this.#open.size, resultBytes: this.#budget.resultBytes };
  }

  /** The limit that was last in a call's way, if any was. */
  get overdraft(): Overdraft | undefined {
    return this.#overdraft;
  }

  /**
   * The way of one call. Resolves with its answer, or with nothing where the session was closed before there was
   * one. Rejects only where the journal does.
   */
  async call(request: CallRequest): Promise<Answer | undefined> {
    const tool = this.#gate.tools.get(request.tool);
    this.#budget.arrive();
    if (!tool || !isVisible(tool, this.#options.callers))
      return this.#refuse(
        request,
        sentences.toolUnknown(request.tool, this.#gate.tools.nearestNames(request.tool, request.caller)),
      );
    if (!tool.allowedCallers.includes(request.caller)) return this.#refuse(request, sentences.callerNotAllowed(tool));
    if (this.#closed) return this.#drop(request);

    const overdraft = this.#budget.takeInput(Buffer.byteLength(request.inputText));
    if (overdraft) {
      this.#overdraft = overdraft;
      return this.#refuse(request, sentences.budgetSpent(tool.name, overdraft));
    }

    const reading = readInput(tool.input, request.inputText);
    const input = reading instanceof Promise ? await reading : reading;
    if (!input.ok) return this.#refuse(request, sentences.inputInvalid(tool, input.reason));

    const running: Running = { tool, request, since: performance.now(), giveUp: undefined };
    this.#open.set(request.callId, running);
    const inputDigest = hash("sha256", request.inputText);
    if (tool.approvable && !(await this.#isApproved(running, input.value, inputDigest))) {
      this.#open.delete(request.callId);
      return this.#closed ? this.#drop(request) : this.#refuse(request, sentences.approvalDenied(tool.name));
    }

    await this.#journal(request, { decision: "allowed", inputDigest });
    const context = this.#contextOf(running, inputDigest);
    const answer = await this.#queue.add(() =>
      this.#gate.whenFree(tool.name, () => this.#run(running, input.value, context)),
    );
    this.#open.delete(request.callId);
    return this.#closed ? undefined : answer;
  }

  /** Ends the session: what runs is aborted, nothing starts any more, later answers are dropped. */
  close(): void {
    this.#closed = true;
    for (const running of this.#open.values()) {
      abort(running, "The execution has ended.");
      running.giveUp?.();
      this.#end(running.request, running.since, 0, "aborted");
    }
    this.#open.clear();
  }

  async #isApproved(running: Running, input: unknown, inputDigest: string): Promise<boolean> {
    const { tool, request } = running;
    if (!(await needsApproval(tool, input))) return true;
    const closed = new Promise<false>((resolve) => {
      running.giveUp = () => resolve(false);
    });
    const decide = async () => {
      try {
        const { approve } = this.#gate;
        const asked = {
          execution: this.#options.execution,
          callId: request.callId,
          tool: tool.name,
          caller: request.caller,
          input: JSON.parse(request.inputText),
          inputDigest,
          signal: signalOf(running),
        };
        return (await approve?.(asked)) === true;
      } catch {
        return false;
      }
    };
    return (await Promise.race([decide(), closed])) && !this.#closed;
  }

  /** From here on somebody may have been charged for the call. */
  async #run(running: Running, input: unknown, context: CallContext): Promise<Answer | undefined> {
    if (this.#closed) return undefined;
    const { tool, request } = running;
    this.#options.onEvent({
      type: "call_started",
      execution: this.#options.execution,
      callId: request.callId,
      tool: tool.name,
      caller: request.caller,
    });
    const { answer, result, error } = await this.#handle(running, input, context);
    if (this.#closed) return undefined;
    const bytes = answer.ok ? answer.bytes : 0;
    this.#end(request, running.since, bytes, answer.ok ? result : answer.code, error);
    return answer;
  }

  async #handle(
    running: Running,
    input: unknown,
    context: CallContext,
  ): Promise<{ readonly answer: Answer; readonly result: string; readonly error?: unknown }> {
    const { tool, request } = running;
    const { resultBytes } = this.#options.limits;
    let value: unknown;
    try {
      const handled = await this.#inTime(running, async () => tool.handler(input, context));
      if (handled === LATE) return { answer: sentences.handlerTimedOut(tool), result: "" };
      value = handled;
    } catch (error) {
      const publicMessage = PortcullisError.is(error) && error.code === "tool_failed" ? error.message : undefined;
      return { answer: sentences.handlerFailed(tool.name, request.callId, publicMessage), result: "", error };
    }
    const least = leastBytes(value, resultBytes);
    if (least > resultBytes) return { answer: sentences.resultTooLarge(tool.name, least, resultBytes), result: "" };
    if (tool.output !== undefined) {
      try {
        const validated = await validate(tool.output, value);
        if (!validated.ok)
          return {
            answer: sentences.outputInvalid(tool.name),
            result: "",
            error: new Error(issuesText(validated.issues)),
          };
        value = validated.value;
      } catch (error) {
        return { answer: sentences.outputInvalid(tool.name), result: "", error };
      }
    }
    const encoded = resultText(value, resultBytes);
    if (encoded.type === "not_json")
      return {
        answer: sentences.handlerFailed(tool.name, request.callId, undefined),
        result: "",
        error: encoded.cause,
      };
    if (encoded.type === "too_large")
      return { answer: sentences.resultTooLarge(tool.name, encoded.bytes, resultBytes), result: "" };
    const overdraft = this.#budget.takeResult(encoded.bytes);
    if (overdraft) {
      this.#overdraft = overdraft;
      return { answer: sentences.budgetSpent(tool.name, overdraft), result: "" };
    }
    return { answer: { ok: true, text: encoded.text, bytes: encoded.bytes }, result: resultType(value) };
  }

  /** What the handler returns or throws; or LATE once its time is over or the session is closed. */
  #inTime(running: Running, handle: () => Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        abort(running, `The call took longer than ${running.tool.timeoutMs} ms.`);
        resolve(LATE);
      }, running.tool.timeoutMs);
      running.giveUp = () => {
        clearTimeout(timer);
        resolve(LATE);
      };
      handle().then(
        (value) => {
          clearTimeout(timer);
          resolve(value);
        },
        (error: unknown) => {
          clearTimeout(timer);
          reject(error);
        },
      );
    });
  }

  #contextOf(running: Running, inputDigest: string): CallContext {
    const { callId, caller } = running.request;
    const { execution } = this.#options;
    return {
      execution,
      callId,
      caller,
      idempotencyKey: `${execution}:${callId}:${inputDigest}`,
      get signal() {
        return signalOf(running);
      },
    };
  }

  async #refuse(request: CallRequest, answer: Answer & { readonly ok: false }): Promise<Answer> {
    await this.#journal(request, { decision: "refused", code: answer.code });
    this.#end(request, performance.now(), 0, answer.code);
    return answer;
  }

  async #drop(request: CallRequest): Promise<undefined> {
    await this.#journal(request, { decision: "dropped" });
  }

  #journal(
    { callId, tool, caller }: CallRequest,
    facts: Pick<CallRecord, "decision" | "code" | "inputDigest">,
  ): Promise<void> {
    return this.#options.record({ type: "call", call: callId, tool, caller, ...facts, at: Date.now() });
  }

  #end({ callId, tool, caller }: CallRequest, since: number, bytes: number, result: string, error?: unknown): void {
    const line: CallLine = { callId, tool, caller, ms: performance.now() - since, bytes, result };
    this.lines.push(line);
    this.#options.onEvent({
      type: "call_ended",
      execution: this.#options.execution,
      line,
      ...(error === undefined ? {} : { error }),
    });
  }
}

const LATE = Symbol("late");

/** A predicate that throws has not said that the call may go without approval. */
async function needsApproval(tool: Tool, input: unknown): Promise<boolean> {
  try {
    return await tool.needsApproval(input);
  } catch {
    return true;
  }
}

function signalOf(running: Running): AbortSignal {
  running.abort ??= new AbortController();
  if (running.over) running.abort.abort(running.over);
  return running.abort.signal;
}

function abort(running: Running, reason: string): void {
  running.over = new Error(reason);
  running.abort?.abort(running.over);
}
