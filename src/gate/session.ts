import { hash } from "node:crypto";
import PQueue from "p-queue";
import type { CallRecord } from "../journal/record.ts";
import type { Caller, Tool } from "../tools/tool.ts";
import { isVisible, type ToolSet } from "../tools/tool-set.ts";
import type { Answer } from "./answer.ts";
import type { Approve } from "./approval.ts";
import { Budget, type GateLimits, type Overdraft } from "./budget.ts";
import { type CallLine, type CallRequest, OpenCall, type Origin, OVER } from "./open-call.ts";
import { readInput } from "./read-input.ts";
import { runHandler } from "./run-handler.ts";
import * as sentences from "./sentences.ts";

/** What holds over all sessions of a gate. */
export interface SharedRules {
  readonly tools: ToolSet;
  readonly approve: Approve | undefined;
  /** Runs something when a tool has room for one more call. */
  whenFree<Value>(tool: Tool, run: () => Promise<Value>): Promise<Value>;
}

export interface SessionOptions {
  readonly execution: string;
  /** As whom calls may be made in this session. */
  readonly callers: readonly Caller[];
  /**
   * Whose tools are known in this session, if they are more than those who call in it: a model that writes programs
   * for us knows what they may call. Tools for none of them do not exist here.
   */
  readonly knows?: readonly Caller[];
  readonly limits: GateLimits;
  /** The call that has begun it, in whose session calls and tokens count too. */
  readonly above?: Above | undefined;
  /** Tokens that models may use; unlimited by default. */
  readonly maxTokens?: number;
  /** What a tool needs that is itself an agent: passed on to handlers, and not looked at. */
  readonly opener?: unknown;
  /** Journals; an `allowed` is awaited before its handler runs. */
  readonly record: (record: CallRecord) => Promise<void>;
  readonly onEvent: (event: CallEvent) => void;
}

export interface Above {
  readonly session: Origin;
  readonly callId: string;
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

/** The calls of one execution or conversation, from the first to its closing. */
export class GateSession {
  readonly lines: CallLine[] = [];
  readonly #gate: SharedRules;
  readonly budget: Budget;
  readonly #options: SessionOptions;
  readonly #queue: PQueue;
  readonly #open = new Map<string, OpenCall>();
  readonly #givenUp = new Set<string>();
  #closed = false;
  #overdraft: Overdraft | undefined;

  constructor(gate: SharedRules, options: SessionOptions) {
    this.#gate = gate;
    this.#options = options;
    this.budget = new Budget(options.limits, options.above?.session.budget, options.maxTokens);
    this.#queue = new PQueue({ concurrency: options.limits.callsAtOnce });
  }

  get opener(): unknown {
    return this.#options.opener;
  }

  get usage(): { readonly calls: number; readonly open: number; readonly resultBytes: number } {
    return { calls: this.budget.calls, open: this.#open.size, resultBytes: this.budget.resultBytes };
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
    const { callers, knows = callers } = this.#options;
    const tool = this.#gate.tools.get(request.tool);
    this.budget.arrive();
    if (!tool || !callers.includes(request.caller) || !isVisible(tool, knows))
      return this.#refuse(request, this.#toolUnknown(request));
    if (!tool.allowedCallers.includes(request.caller)) return this.#refuse(request, sentences.callerNotAllowed(tool));
    if (this.#closed) return this.#drop(request);

    const overdraft = this.budget.takeInput(Buffer.byteLength(request.inputText));
    if (overdraft) return this.#refuse(request, this.#budgetSpent(tool, overdraft));

    const reading = readInput(tool.input, request.inputText);
    const input = reading instanceof Promise ? await reading : reading;
    if (this.#closed || this.#givenUp.has(request.callId)) return this.#drop(request);
    if (!input.ok) return this.#refuse(request, sentences.inputInvalid(tool, input.reason));

    const call = new OpenCall(tool, request, hash("sha256", request.inputText));
    this.#open.set(request.callId, call);
    const approved = !tool.approvable || (await call.orOver(() => this.#isApproved(call, input.value)));
    if (this.#closed) return this.#drop(request);
    if (approved === OVER) return undefined;
    if (!approved) {
      this.#open.delete(request.callId);
      return this.#refuse(request, sentences.approvalDenied(tool.name));
    }

    await this.#journal(request, { decision: "allowed", inputDigest: call.inputDigest });
    const answer = await call.orOver(() =>
      this.#queue.add(() => this.#gate.whenFree(tool, () => this.#run(call, input.value))),
    );
    return answer === OVER ? undefined : answer;
  }

  /**
   * Counts what is not a call of a tool and does the work of many, like a program that a model hands over. Resolves
   * with the refusal where the budget of calls is spent.
   */
  async countCall(about: Omit<CallRequest, "inputText">): Promise<Answer | undefined> {
    this.budget.arrive();
    const overdraft = this.budget.overCalls();
    if (!overdraft) return undefined;
    this.#overdraft = overdraft;
    return this.#refuse({ ...about, inputText: "" }, sentences.budgetSpent(about.tool, overdraft));
  }

  /** Answers that come from now on are of no use: a call without one is aborted, and what its handler still does is dropped. */
  async giveUp(callId: string, reason: string): Promise<void> {
    const call = this.#open.get(callId);
    this.#givenUp.add(callId);
    if (!call) return;
    this.#open.delete(callId);
    call.end(reason);
    await this.#drop(call.request);
    this.#reportAborted(call);
  }

  /** Ends the session: what runs is aborted, nothing starts any more, later answers are dropped. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#queue.clear();
    for (const call of this.#open.values()) {
      call.end("The execution has ended.");
      this.#reportAborted(call);
    }
    this.#open.clear();
  }

  /** Lists a call. One of an execution below has the ids of both, like `call_2/17`. */
  note(line: CallLine): void {
    this.lines.push(line);
    const { above } = this.#options;
    above?.session.note({ ...line, callId: `${above.callId}/${line.callId}` });
  }

  /** From here on the world may change. */
  async #run(call: OpenCall, input: unknown): Promise<Answer | undefined> {
    const { request, tool, since } = call;
    if (this.#closed || !this.#open.has(request.callId)) return undefined;
    const { execution, limits, onEvent } = this.#options;
    onEvent({ type: "call_started", execution, callId: request.callId, tool: tool.name, caller: request.caller });
    const {
      answer: handled,
      result,
      error,
    } = await runHandler(call, input, call.contextIn(execution, this), limits.resultBytes);
    if (this.#closed || !this.#open.has(request.callId)) return undefined;
    this.#open.delete(request.callId);
    const overdraft = handled.ok ? this.budget.takeResult(handled.bytes) : undefined;
    const answer = overdraft ? this.#budgetSpent(tool, overdraft) : handled;
    const line = answer.ok ? { bytes: answer.bytes, result, ok: true } : { bytes: 0, result: answer.code, ok: false };
    this.#report(request, { since, ...line, started: true }, error);
    return answer;
  }

  async #isApproved({ tool, request, inputDigest, signal }: OpenCall, input: unknown): Promise<boolean> {
    if (!(await needsApproval(tool, input))) return true;
    if (this.#closed) return false;
    const { callId, caller, inputText } = request;
    const asked = {
      execution: this.#options.execution,
      callId,
      tool: tool.name,
      caller,
      input: JSON.parse(inputText) as unknown,
      inputDigest,
      signal,
    };
    try {
      return (await this.#gate.approve?.(asked)) === true;
    } catch {
      return false;
    }
  }

  #toolUnknown({ tool, caller }: CallRequest) {
    const known = this.#options.callers.includes(caller);
    return sentences.toolUnknown(tool, known ? this.#gate.tools.nearestNames(tool, caller) : []);
  }

  #budgetSpent(tool: Tool, overdraft: Overdraft) {
    this.#overdraft = overdraft;
    return sentences.budgetSpent(tool.name, overdraft);
  }

  async #refuse(request: CallRequest, answer: Answer & { readonly ok: false }): Promise<Answer> {
    await this.#journal(request, { decision: "refused", code: answer.code });
    this.#report(request, { since: performance.now(), bytes: 0, result: answer.code, ok: false, started: false });
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

  #reportAborted({ request, since, started }: OpenCall): void {
    this.#report(request, { since, bytes: 0, result: "aborted", ok: false, started });
  }

  #report(
    { callId, tool, caller }: CallRequest,
    { since, ...facts }: Omit<CallLine, "callId" | "tool" | "caller" | "ms"> & { readonly since: number },
    error?: unknown,
  ): void {
    const line: CallLine = { callId, tool, caller, ms: performance.now() - since, ...facts };
    this.note(line);
    this.#options.onEvent({
      type: "call_ended",
      execution: this.#options.execution,
      line,
      ...(error === undefined ? {} : { error }),
    });
  }
}

/** A predicate that throws has not said that the call may go without approval. */
async function needsApproval(tool: Tool, input: unknown): Promise<boolean> {
  try {
    return await tool.needsApproval(input);
  } catch {
    return true;
  }
}
