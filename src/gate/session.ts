import type { AnsweredRecord, CallRecord, DecisionRecord } from "../journal/record.ts";
import type { Caller, Tool } from "../tools/tool.ts";
import { type HeldBytes, memoryOf, type Share } from "../values/held-bytes.ts";
import { isVisible, type ToolSet } from "../tools/tool-set.ts";
import type { Answer, Failure, Refusal, Value } from "./answer.ts";
import { type Approve, askApproval } from "./approval.ts";
import { Budget, type GateLimits, type Overdraft } from "./budget.ts";
import type { CallLine } from "./call-line.ts";
import { CallQueues } from "./call-queues.ts";
import {
  type CallIdentity,
  type CallRequest,
  OpenCall,
  OVER,
  type ParentSession,
  type WorkScope,
} from "./open-call.ts";
import { readInput } from "./read-input.ts";
import { type Failed, runHandler, type Succeeded } from "./run-handler.ts";
import type { SlicedWork } from "../values/slice-scheduler.ts";
import * as sentences from "./sentences.ts";

/** What all sessions of a gate share. */
export interface SharedRules {
  readonly tools: ToolSet;
  readonly approve: Approve | undefined;
  readonly held: HeldBytes;
  /** Runs `run` when the tool's concurrency allows one more call. Drops it, and rejects, if the signal is aborted first. */
  whenFree<Value>(tool: Tool, run: () => Promise<Value>, signal: AbortSignal): Promise<Value>;
}

export interface SessionOptions {
  readonly execution: string;
  /** Tenant of the calls; tenants share the host's thread in equal parts. */
  readonly tenant?: string;
  /** The execution's share of memory and thread, ended by its owner; by default a share that ends with the session. */
  readonly share?: Share;
  /** Callers that calls of this session may have. */
  readonly callers: readonly Caller[];
  /**
   * The callers whose tools exist in this session; `callers` by default. A model that writes programs also sees the
   * tools for programs, and a direct call of one is refused with `caller_not_allowed`.
   */
  readonly visibleTo?: readonly Caller[];
  readonly limits: GateLimits;
  /** The call that started this session. Calls and tokens also count in its session. */
  readonly above?: ParentCall | undefined;
  /** Tokens that models may use; unlimited by default. */
  readonly maxTokens?: number;
  /** Scope for a tool that is itself an agent. */
  readonly scope?: WorkScope;
  readonly log: GateLog;
  readonly onEvent: (event: CallEvent) => void;
}

/** The journal of a session. */
export interface GateLog {
  /** Resolves once the record is in the journal. An `allowed` record is awaited before the handler runs. */
  append(record: CallRecord | DecisionRecord): Promise<void>;
  /** Journals the record together with the next one that is appended. */
  defer(record: AnsweredRecord): void;
}

export interface ParentCall {
  readonly session: ParentSession;
  readonly execution: string;
  readonly callId: string;
}

/** An event of a call. `error` is for the operator and may hold anything. */
export type CallEvent =
  | {
      readonly type: "call_started";
      readonly execution: string;
      readonly callId: string;
      readonly tool: string;
      readonly caller: Caller;
    }
  | { readonly type: "call_ended"; readonly execution: string; readonly line: CallLine; readonly error?: unknown };

/** The calls of one execution or conversation, until it is closed. */
export class GateSession {
  readonly lines: CallLine[] = [];
  readonly #gate: SharedRules;
  readonly budget: Budget;
  readonly #options: SessionOptions;
  readonly share: Share;
  readonly #queues: CallQueues;
  readonly #open = new Map<string, OpenCall>();
  readonly #givenUp = new Set<string>();
  #closed = false;
  #ended: Promise<void> = Promise.resolve();
  #overdraft: Overdraft | undefined;

  constructor(gate: SharedRules, options: SessionOptions) {
    this.#gate = gate;
    this.#options = options;
    this.share = options.share ?? gate.held.share(options.tenant ?? "", options.limits.totalBytes);
    this.budget = new Budget(options.limits, options.above?.session.budget, options.maxTokens);
    this.#queues = new CallQueues(options.limits.callsAtOnce);
  }

  get scope(): WorkScope | undefined {
    return this.#options.scope;
  }

  get usage(): { readonly calls: number; readonly open: number; readonly resultBytes: number } {
    return { calls: this.budget.calls, open: this.#open.size, resultBytes: this.budget.resultBytes };
  }

  /** The limit that a call of this session exceeded last. */
  get overdraft(): Overdraft | undefined {
    return this.#overdraft;
  }

  /**
   * Takes one call through the gate. Resolves with its answer, or with undefined if the call or the session ended before
   * there was one. Rejects only if the journal does.
   */
  async call(request: CallRequest): Promise<Answer | undefined> {
    const { callers, visibleTo = callers } = this.#options;
    const tool = this.#gate.tools.get(request.tool);
    this.budget.arrive();
    if (!tool || !callers.includes(request.caller) || !isVisible(tool, visibleTo))
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
   * Counts work that is not a call of a tool, like a program that a model hands over. Resolves with the refusal if the
   * limit of calls is exceeded.
   */
  async countCall(about: Omit<CallRequest, "inputText">): Promise<Answer | undefined> {
    this.budget.arrive();
    const overdraft = this.budget.overCalls();
    if (!overdraft) return undefined;
    this.#overdraft = overdraft;
    return this.#refuse({ ...about, inputText: "" }, sentences.budgetSpent(about.tool, overdraft));
  }

  /** Gives up a call: aborts it if it has no answer yet, and drops a later result of its handler. */
  async giveUp(callId: string, reason: string): Promise<void> {
    this.#givenUp.add(callId);
    const call = this.#open.get(callId);
    if (!call) return;
    this.#open.delete(callId);
    call.dropped = this.#drop(call.identity);
    this.#abort(call, reason);
    await call.dropped;
  }

  /** Resolves once every call that was open when the session closed is journalled and listed. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Ends the session: aborts open calls, starts no more, and drops later answers. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const open = [...this.#open.values()];
    this.#open.clear();
    this.#queues.close();
    // Work that is under way is aborted at once. Calls that only wait cannot start any more, and there may be thousands.
    for (const call of open) if (call.isUnderWay) this.#endOpen(call);
    const ending = this.share.lane.work(this.#endAll(open.filter((call) => !call.isOver)));
    this.#ended = Promise.resolve(ending);
    if (!this.#options.share) this.share.end();
  }

  *#endAll(open: readonly OpenCall[]): SlicedWork<void> {
    for (const call of open) {
      this.#endOpen(call);
      yield;
    }
  }

  #endOpen(call: OpenCall): void {
    if (!call.decided) call.dropped = this.#drop(call.identity);
    this.#abort(call, "The execution has ended.");
  }

  /** Adds a call to the report. A call of a nested execution has both ids, like `call_2/17`. */
  note(line: CallLine): void {
    this.lines.push(line);
    const { above } = this.#options;
    above?.session.note({ ...line, callId: `${above.callId}/${line.callId}` });
  }

  /**
   * Runs a call that may need approval. Its input is parsed for that check, and parsed again when its approval is
   * requested, so that waiting calls hold only their text. Calls that need no approval do not wait for those that do.
   */
  async #approveAndRun(call: OpenCall): Promise<Answer | undefined> {
    const checked = await this.#queues.check(() =>
      this.#withInput(call, async (input) =>
        (await needsApproval(call.tool, input)) ? NEEDS_APPROVAL : this.#runAtItsTurn(call, { input }),
      ),
    );
    if (checked !== NEEDS_APPROVAL) return checked;
    this.#giveBackInput(call);

    if (call.isOver) return undefined;
    call.approval = { type: "held" };
    await this.#journal(call.identity, { decision: "held", inputDigest: call.inputDigest });
    if (call.isOver) return undefined;
    return this.#queues.approve(() => this.#withInput(call, (input) => this.#decideAndRun(call, input)));
  }

  async #decideAndRun(call: OpenCall, input: unknown): Promise<Answer | undefined> {
    const { inputText, inputDigest, signal } = call;
    const { execution, log } = this.#options;
    const request = { execution, ...call.identity, inputDigest, signal };
    const { type, ...details } = await askApproval(this.#gate.approve, request, inputText);
    if (call.isOver) return undefined;
    call.approval = { type, ...details };
    const allow = type === "approved";
    await log.append({ type: "decision", call: call.identity.callId, allow, ...details, at: Date.now() });
    return allow
      ? this.#runAtItsTurn(call, { input })
      : this.#refuse(call, sentences.approvalDenied(call.tool.name, details.note));
  }

  /** Runs a call when the concurrency of its execution and its tool allows it. Reads its input then, unless it was read before. */
  #runAtItsTurn(call: OpenCall, read?: { readonly input: unknown }): Promise<Answer | undefined> {
    const run = () => (read ? this.#run(call, read.input) : this.#withInput(call, (input) => this.#run(call, input)));
    return this.#queues.run((closing) => this.#gate.whenFree(call.tool, run, closing));
  }

  /** Reads a call's input and passes it to `goOn`, or refuses the call. */
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
    return readInput(call.tool, call.inputText, (bytes) => {
      const overdraft = this.share.hold(bytes);
      if (!overdraft) call.inputBytes = bytes;
      return overdraft;
    });
  }

  #giveBackInput(call: OpenCall): void {
    this.share.giveBack(call.inputBytes);
    call.inputBytes = 0;
  }

  /** Journals `allowed`, then runs the handler: from then on the tool may take effect. */
  async #run(call: OpenCall, input: unknown): Promise<Answer | undefined> {
    if (call.isOver) return undefined;
    const { identity, tool } = call;
    call.decided = true;
    await this.#journal(identity, { decision: "allowed", inputDigest: call.inputDigest });
    if (call.isOver) return undefined;
    const { execution, limits, onEvent } = this.#options;
    onEvent({ type: "call_started", execution, callId: identity.callId, tool: tool.name, caller: identity.caller });
    const context = call.contextIn(execution, this);
    const handled = await runHandler(call, input, context, limits.resultBytes, this.share);
    if (!this.#open.delete(identity.callId)) return undefined;
    return "shape" in handled ? this.#succeed(call, handled) : this.#fail(call, handled);
  }

  #succeed(call: OpenCall, { answer, shape }: Succeeded): Answer {
    const overdraft = this.#takeResult(answer);
    if (overdraft)
      return this.#fail(call, { answer: sentences.resultOverBudget(call.tool.name, overdraft), overdraft });
    const { bytes } = answer;
    const line = this.#lineOf(call, { bytes, outcome: { type: "value", shape }, started: true });
    this.#answered(line);
    this.#report(line);
    return answer;
  }

  #fail(call: OpenCall, { answer, error, overdraft }: Failed): Answer {
    if (overdraft) this.#overdraft = overdraft;
    this.#countFailure(answer);
    const line = this.#lineOf(call, { bytes: 0, outcome: { type: "failed", code: answer.code }, started: true });
    this.#answered(line, answer.code);
    this.#report(line, error);
    return answer;
  }

  #answered({ callId, ms, bytes }: CallLine, code?: string): void {
    const facts = code === undefined ? { ok: true } : { ok: false, code };
    this.#options.log.defer({ type: "answered", call: callId, ...facts, ms, bytes, at: Date.now() });
  }

  #takeResult({ text, bytes }: Value): Overdraft | undefined {
    const heldBytes = memoryOf(text, bytes);
    return this.budget.takeResult(bytes, heldBytes) ?? this.share.hold(heldBytes);
  }

  #countFailure({ message }: Failure | Refusal): void {
    const heldBytes = memoryOf(message);
    this.budget.takeFailure(heldBytes);
    this.share.count(heldBytes);
  }

  #toolUnknown({ tool, caller }: CallIdentity) {
    const known = this.#options.callers.includes(caller);
    return sentences.toolUnknown(tool, known ? this.#gate.tools.nearestNames(tool, caller) : []);
  }

  #budgetSpent(tool: Tool, overdraft: Overdraft) {
    this.#overdraft = overdraft;
    return sentences.budgetSpent(tool.name, overdraft);
  }

  /** Refuses a call, open or not, unless it has ended. */
  async #refuse(refused: CallIdentity | OpenCall, answer: Refusal): Promise<Answer | undefined> {
    const call = refused instanceof OpenCall ? refused : undefined;
    const identity = refused instanceof OpenCall ? refused.identity : refused;
    if (call?.isOver) return undefined;
    if (call) call.decided = true;
    this.#open.delete(identity.callId);
    this.#countFailure(answer);
    await this.#journal(identity, { decision: "refused", code: answer.code });
    const line = { bytes: 0, outcome: { type: "refused", code: answer.code }, started: false } as const;
    this.#report(this.#lineOf(call ?? { identity, since: performance.now() }, line));
    return answer;
  }

  async #drop(identity: CallIdentity): Promise<undefined> {
    await this.#journal(identity, { decision: "dropped" });
  }

  #journal(
    { callId, tool, caller }: CallIdentity,
    facts: Pick<CallRecord, "decision" | "code" | "inputDigest">,
  ): Promise<void> {
    return this.#options.log.append({ type: "call", call: callId, tool, caller, ...facts, at: Date.now() });
  }

  #abort(call: OpenCall, reason: string): void {
    call.end(reason);
    this.#report(this.#lineOf(call, { bytes: 0, outcome: { type: "aborted" }, started: call.started }));
  }

  #lineOf(
    { identity: { callId, tool, caller }, since }: Pick<OpenCall, "identity" | "since">,
    facts: Pick<CallLine, "bytes" | "outcome" | "started">,
  ): CallLine {
    return { callId, tool, caller, ms: performance.now() - since, ...facts };
  }

  #report(line: CallLine, error?: unknown): void {
    this.note(line);
    const { execution, onEvent } = this.#options;
    onEvent({ type: "call_ended", execution, line, ...(error === undefined ? {} : { error }) });
  }
}

const NEEDS_APPROVAL = Symbol("needs approval");

/** If the predicate throws, the call needs approval. */
async function needsApproval(tool: Tool, input: unknown): Promise<boolean> {
  try {
    return await tool.needsApproval(input);
  } catch {
    return true;
  }
}
