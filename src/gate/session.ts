import PQueue from "p-queue";
import type { CallRecord } from "../journal/record.ts";
import type { Caller, Tool } from "../tools/tool.ts";
import { type HeldBytes, memoryOf, type Share } from "../values/held-bytes.ts";
import { isVisible, type ToolSet } from "../tools/tool-set.ts";
import type { Answer } from "./answer.ts";
import type { Approve } from "./approval.ts";
import { Budget, type GateLimits, type Overdraft } from "./budget.ts";
import {
  type CallIdentity,
  type CallLine,
  type CallRequest,
  OpenCall,
  type Origin,
  OVER,
  type WorkScope,
} from "./open-call.ts";
import { readInput } from "./read-input.ts";
import { runHandler } from "./run-handler.ts";
import * as sentences from "./sentences.ts";

/** What holds over all sessions of a gate. */
export interface SharedRules {
  readonly tools: ToolSet;
  readonly approve: Approve | undefined;
  readonly held: HeldBytes;
  /** Runs something when a tool has room for one more call. Forgets it, and rejects, where the signal is aborted before. */
  whenFree<Value>(tool: Tool, run: () => Promise<Value>, signal: AbortSignal): Promise<Value>;
}

export interface SessionOptions {
  readonly execution: string;
  /** For whom; tenants share the host's thread in equal parts. */
  readonly tenant?: string;
  /** The execution's part in what all share, which its owner ends; by default one that ends with the session. */
  readonly share?: Share;
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
  /** What a tool that is itself an agent works in. */
  readonly scope?: WorkScope;
  /** Journals; an `allowed` is awaited before its handler runs. */
  readonly record: (record: CallRecord) => Promise<void>;
  readonly onEvent: (event: CallEvent) => void;
}

export interface Above {
  readonly session: Origin;
  readonly execution: string;
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
  readonly share: Share;
  readonly #queue: PQueue;
  /** Of calls that may need approval, while that is found out, and of those that ask for it. Most sessions have none. */
  #checks: PQueue | undefined;
  #approvals: PQueue | undefined;
  readonly #open = new Map<string, OpenCall>();
  readonly #givenUp = new Set<string>();
  /** For the queues of tools, which outlive a session and are not to keep what waits there. */
  readonly #closing = new AbortController();
  #closed = false;
  #overdraft: Overdraft | undefined;

  constructor(gate: SharedRules, options: SessionOptions) {
    this.#gate = gate;
    this.#options = options;
    this.share = options.share ?? gate.held.share(options.tenant ?? "", options.limits.totalBytes);
    this.budget = new Budget(options.limits, options.above?.session.budget, options.maxTokens);
    this.#queue = new PQueue({ concurrency: options.limits.callsAtOnce });
  }

  get scope(): WorkScope | undefined {
    return this.#options.scope;
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
    if (this.#closed || this.#givenUp.has(request.callId)) return this.#drop(request);

    const bytes = Buffer.byteLength(request.inputText);
    const overdraft = this.budget.takeInput(bytes, memoryOf(request.inputText, bytes));
    if (overdraft) return this.#refuse(request, this.#budgetSpent(tool, overdraft));

    const call = new OpenCall(tool, request);
    this.#open.set(request.callId, call);
    try {
      const answer = await call.orOver(() => (tool.approvable ? this.#approveAndRun(call) : this.#runAtItsTurn(call)));
      await call.dropped;
      return answer === OVER || this.#closed ? undefined : answer;
    } finally {
      this.#giveBackInput(call);
    }
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
    this.#givenUp.add(callId);
    const call = this.#open.get(callId);
    if (!call) return;
    this.#open.delete(callId);
    call.dropped = this.#drop(call.identity);
    this.#abort(call, reason);
    await call.dropped;
  }

  /** Ends the session: what runs is aborted, nothing starts any more, later answers are dropped. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const call of open) {
      if (!call.decided) call.dropped = this.#drop(call.identity);
      this.#abort(call, "The execution has ended.");
    }
    for (const queue of [this.#checks, this.#approvals, this.#queue]) queue?.clear();
    this.#closing.abort();
    if (!this.#options.share) this.share.end();
  }

  /** Lists a call. One of an execution below has the ids of both, like `call_2/17`. */
  note(line: CallLine): void {
    this.lines.push(line);
    const { above } = this.#options;
    above?.session.note({ ...line, callId: `${above.callId}/${line.callId}` });
  }

  /**
   * A call that may need approval. Its input is read to find that out, and read again once it may ask: calls that wait
   * for that hold their text alone. Those that need none do not wait for those that do.
   */
  async #approveAndRun(call: OpenCall): Promise<Answer | undefined> {
    const { limits } = this.#options;
    this.#checks ??= new PQueue({ concurrency: limits.callsAtOnce });
    const checked = await this.#checks.add(() =>
      this.#withInput(call, async (input) =>
        (await needsApproval(call.tool, input)) ? NEEDS_APPROVAL : this.#runAtItsTurn(call, { input }),
      ),
    );
    if (checked !== NEEDS_APPROVAL) return checked;
    this.#giveBackInput(call);

    this.#approvals ??= new PQueue({ concurrency: limits.callsAtOnce });
    return this.#approvals.add(() =>
      this.#withInput(call, async (input) =>
        (await this.#isApproved(call))
          ? this.#runAtItsTurn(call, { input })
          : this.#refuse(call, sentences.approvalDenied(call.tool.name)),
      ),
    );
  }

  /** Runs a call when its execution and its tool have room for it. Its input is read then, where it has not been. */
  async #runAtItsTurn(call: OpenCall, read?: { readonly input: unknown }): Promise<Answer | undefined> {
    const { signal } = this.#closing;
    const run = () => (read ? this.#run(call, read.input) : this.#withInput(call, (input) => this.#run(call, input)));
    try {
      return await this.#queue.add(() => this.#gate.whenFree(call.tool, run, signal));
    } catch (error) {
      // A call that had its answer when the session closed: its tool's queue knows only that it was aborted.
      if (signal.aborted && error === signal.reason) return undefined;
      throw error;
    }
  }

  /** Reads a call's input, and goes on with it where it fits. */
  async #withInput<Value>(
    call: OpenCall,
    goOn: (input: unknown) => Promise<Value>,
  ): Promise<Value | Answer | undefined> {
    const reading = this.share.lane.run(() => this.#readInput(call));
    const read = reading instanceof Promise ? await reading : reading;
    if (!read || call.isOver) return undefined;
    if (read.ok === true) return goOn(read.value);
    if (read.ok === false) return this.#refuse(call, sentences.inputInvalid(call.tool, read.reason));
    return this.#refuse(call, this.#budgetSpent(call.tool, read.overdraft));
  }

  #readInput(call: OpenCall) {
    if (call.isOver) return undefined;
    return readInput(call.tool.input, call.inputText, (bytes) => {
      const overdraft = this.share.hold(bytes);
      if (!overdraft) call.inputBytes = bytes;
      return overdraft;
    });
  }

  #giveBackInput(call: OpenCall): void {
    this.share.giveBack(call.inputBytes);
    call.inputBytes = 0;
  }

  /** Once it is in the journal that it may, the handler runs: from then on the world may change. */
  async #run(call: OpenCall, input: unknown): Promise<Answer | undefined> {
    if (call.isOver) return undefined;
    const { identity, tool, since } = call;
    call.decided = true;
    await this.#journal(identity, { decision: "allowed", inputDigest: call.inputDigest });
    if (call.isOver) return undefined;
    const { execution, limits, onEvent } = this.#options;
    onEvent({ type: "call_started", execution, callId: identity.callId, tool: tool.name, caller: identity.caller });
    const context = call.contextIn(execution, this);
    const handled = await runHandler(call, input, context, limits.resultBytes, this.share);
    if (!this.#open.delete(identity.callId)) return undefined;
    const overdraft = handled.overdraft ?? (handled.answer.ok ? this.#takeResult(handled.answer) : undefined);
    const answer = overdraft ? this.#budgetSpent(tool, overdraft) : handled.answer;
    if (!answer.ok) this.#countFailure(answer);
    const line = answer.ok
      ? { bytes: answer.bytes, result: handled.result, ok: true }
      : { bytes: 0, result: answer.code, ok: false };
    this.#report(identity, { since, ...line, started: true }, handled.error);
    return answer;
  }

  #takeResult({ text, bytes }: Answer & { readonly ok: true }): Overdraft | undefined {
    const heldBytes = memoryOf(text, bytes);
    return this.budget.takeResult(bytes, heldBytes) ?? this.share.hold(heldBytes);
  }

  #countFailure({ message }: Answer & { readonly ok: false }): void {
    const heldBytes = memoryOf(message);
    this.budget.takeFailure(heldBytes);
    this.share.count(heldBytes);
  }

  async #isApproved(call: OpenCall): Promise<boolean> {
    const { identity, inputText, inputDigest, signal } = call;
    const { callId, tool, caller } = identity;
    const { execution } = this.#options;
    try {
      const input = JSON.parse(inputText) as unknown;
      const approved = await this.#gate.approve?.({ execution, callId, tool, caller, input, inputDigest, signal });
      return approved === true;
    } catch {
      return false;
    }
  }

  #toolUnknown({ tool, caller }: CallIdentity) {
    const known = this.#options.callers.includes(caller);
    return sentences.toolUnknown(tool, known ? this.#gate.tools.nearestNames(tool, caller) : []);
  }

  #budgetSpent(tool: Tool, overdraft: Overdraft) {
    this.#overdraft = overdraft;
    return sentences.budgetSpent(tool.name, overdraft);
  }

  /** Refuses a call, open or not, unless it is over. */
  async #refuse(
    refused: CallIdentity | OpenCall,
    answer: Answer & { readonly ok: false },
  ): Promise<Answer | undefined> {
    const call = refused instanceof OpenCall ? refused : undefined;
    const identity = refused instanceof OpenCall ? refused.identity : refused;
    if (call?.isOver) return undefined;
    if (call) call.decided = true;
    this.#open.delete(identity.callId);
    this.#countFailure(answer);
    await this.#journal(identity, { decision: "refused", code: answer.code });
    const since = call?.since ?? performance.now();
    this.#report(identity, { since, bytes: 0, result: answer.code, ok: false, started: false });
    return answer;
  }

  async #drop(identity: CallIdentity): Promise<undefined> {
    await this.#journal(identity, { decision: "dropped" });
  }

  #journal(
    { callId, tool, caller }: CallIdentity,
    facts: Pick<CallRecord, "decision" | "code" | "inputDigest">,
  ): Promise<void> {
    return this.#options.record({ type: "call", call: callId, tool, caller, ...facts, at: Date.now() });
  }

  #abort(call: OpenCall, reason: string): void {
    call.end(reason);
    const { identity, since, started } = call;
    this.#report(identity, { since, bytes: 0, result: "aborted", ok: false, started });
  }

  #report(
    { callId, tool, caller }: CallIdentity,
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

const NEEDS_APPROVAL = Symbol("needs approval");

/** A predicate that throws has not said that the call may go without approval. */
async function needsApproval(tool: Tool, input: unknown): Promise<boolean> {
  try {
    return await tool.needsApproval(input);
  } catch {
    return true;
  }
}
