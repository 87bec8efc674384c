import { AsyncLocalStorage } from "node:async_hooks";
import { hash } from "node:crypto";
import type { DecisionRecord } from "../journal/record.ts";
import type { ProgramLanguage } from "../tools/declarations.ts";
import { type SearchInput, searchTool } from "../tools/search/search-tool.ts";
import type { FoundTool, ToolSearch } from "../tools/search/tool-search.ts";
import { shownDigest } from "../tools/tool-digest.ts";
import type { CallContext, Caller, Tool } from "../tools/tool.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import { type HeldBytes, memoryOf, type Share } from "../values/held-bytes.ts";
import { isLarge } from "../values/result-text.ts";
import type { SlicedWork } from "../values/slice-scheduler.ts";
import { Admission } from "./admission.ts";
import type { Answer, Failure, Refusal } from "./answer.ts";
import { askApproval, detailsOf } from "./approval.ts";
import type { Budget, GateLimits, Overdraft } from "./budget.ts";
import { type CallEvent, CallLedger, type GateLog } from "./call-ledger.ts";
import type { CallLine } from "./call-line.ts";
import { CallQueues } from "./call-queues.ts";
import { type Arrival, CallWaits, type OutsideRecord } from "./call-waits.ts";
import {
  type CallIdentity,
  type CallRequest,
  OpenCall,
  OVER,
  type ParentCall,
  type ParentSession,
  type PastCall,
  type WorkBelow,
  type WorkScope,
} from "./open-call.ts";
import { type RememberedDecision, RememberedDecisions } from "./remembered.ts";
import { type Handled, readResult, Returned, runHandler, toText } from "./run-handler.ts";
import * as sentences from "./sentences.ts";
import type { UnreadAnswers } from "./unread-answers.ts";

/** The decision about a call comes from outside, later. */
const LATER = Symbol("later");
/** Code of the record by which a call is held whose driver died while its handler ran. */
const OUTCOME_UNKNOWN = "outcome_unknown";

/** What all sessions of a gate share. */
export interface SharedRules {
  readonly tools: ToolSet;
  readonly search: ToolSearch;
  readonly held: HeldBytes;
  /** Runs `run` when the tool's concurrency allows one more call. Drops it, and rejects, if the signal is aborted first. */
  whenFree<Value>(tool: Tool, run: () => Promise<Value>, signal: AbortSignal): Promise<Value>;
}

export interface SessionOptions {
  readonly execution: string;
  /** Who the calls are made for. Tenants share the host's thread in equal parts. */
  readonly scope: WorkScope;
  /** The execution's share of memory and thread, ended by its owner; by default a share that ends with the session. */
  readonly share?: Share;
  /** Callers that calls of this session may have. */
  readonly callers: readonly Caller[];
  /**
   * The callers whose tools exist in this session; `callers` by default. A model that writes programs also sees the
   * tools for programs, and a direct call of one is refused with `caller_not_allowed`.
   */
  readonly visibleTo?: readonly Caller[];
  /** Tools that a model may call directly and finds by a search. */
  readonly deferred?: readonly Tool[];
  /** Language of the stubs that a search finds; JavaScript by default. */
  readonly language?: ProgramLanguage;
  readonly limits: GateLimits;
  /** The call that started this session. Calls and tokens also count in its session. */
  readonly above?: ParentCall | undefined;
  /** Whether the execution may end its driving to wait for decisions or results from outside; false by default. */
  readonly canWait?: boolean;
  /** Bounds the answers that the owner has not read; a model reads them all at once. The owner calls `noteRead`. */
  readonly unread?: UnreadAnswers | undefined;
  /** What an execution that is taken up again has used already. */
  readonly past?: PastUse | undefined;
  /** Tokens that models may use; unlimited by default. */
  readonly maxTokens?: number;
  readonly log: GateLog;
  readonly onEvent: (event: CallEvent) => void;
}

/** What earlier drivers of an execution have used. Its open calls count among `calls`, and arrive again. */
export interface PastUse {
  readonly calls: number;
  readonly openCalls: number;
  readonly inputBytes: number;
  readonly resultBytes: number;
  readonly lines: readonly CallLine[];
  readonly remembered?: readonly RememberedDecision[];
}

/**
 * The calls of one execution or conversation, until it is closed: which are open, and the steps that each of them takes.
 * `Admission` knows which calls may be made, `CallLedger` what becomes known of them.
 */
export class GateSession implements ParentSession, WorkBelow {
  readonly share: Share;
  /** Whether the owner waits for its calls alone. A program that runs or has set a timer does not, nor does a model that is asked. */
  isOwnerIdle: () => boolean = () => true;
  readonly #gate: SharedRules;
  readonly #options: SessionOptions;
  readonly #admission: Admission;
  readonly #ledger: CallLedger;
  readonly #queues: CallQueues;
  readonly #open = new Map<string, OpenCall>();
  readonly #waits: CallWaits;
  readonly #remembered: RememberedDecisions;
  readonly #givenUp = new Set<string>();
  #found: readonly Tool[] | undefined;
  /** Called with the id of a call that begins to wait for a decision or a result from outside, and for nothing else. */
  onWaiting: (callId: string) => void = () => {};
  readonly #endBelow: (() => void) | undefined;
  /** Runs a function in the async context of the execution. Queues and slices would run it in that of another one. */
  readonly #inContext = AsyncLocalStorage.snapshot();
  #closed = false;
  #ended: Promise<void> = Promise.resolve();

  constructor(gate: SharedRules, options: SessionOptions) {
    const { scope, limits, callers, visibleTo = callers, above, maxTokens } = options;
    this.#gate = gate;
    this.#options = options;
    this.share = options.share ?? gate.held.share(scope.tenant, limits.totalBytes);
    const { tools } = gate;
    const { share } = this;
    this.#admission = new Admission({
      tools,
      searchTool: searchTool((input, context) => this.#search(input, context)),
      callers,
      visibleTo,
      limits,
      above: above?.session.budget,
      maxTokens,
      share,
    });
    this.#ledger = new CallLedger(options);
    if (options.past) this.#admission.budget.restore(options.past);
    this.#queues = new CallQueues(limits.callsAtOnce);
    this.#waits = new CallWaits(this.#open, limits.waitMs, () => void this.#expireCalls());
    this.#remembered = new RememberedDecisions(options.past?.remembered);
    this.#endBelow = above?.session.beginBelow(above.callId, this);
  }

  get scope(): WorkScope {
    return this.#options.scope;
  }

  get budget(): Budget {
    return this.#admission.budget;
  }

  get lines(): readonly CallLine[] {
    return this.#ledger.lines;
  }

  get usage(): { readonly calls: number; readonly open: number; readonly resultBytes: number } {
    const { calls, resultBytes } = this.budget;
    return { calls, open: this.#open.size, resultBytes };
  }

  /** Memory of the answers that the owner has not read. */
  get unreadBytes(): number {
    return this.#options.unread?.bytes ?? 0;
  }

  /** The limit that a call of this session exceeded last. */
  get overdraft(): Overdraft | undefined {
    return this.#admission.overdraft;
  }

  /** Whether its calls, and what they have started, wait for approvals and for nothing else. */
  get waitsForApproval(): boolean {
    return !this.#closed && this.#waits.areApprovals && this.isOwnerIdle();
  }

  /** Whether a call waits for a decision or a result from outside this process, and for nothing else. */
  waitsFor(callId: string): boolean {
    return this.#waits.isOutside(callId);
  }

  /** Whether all its calls wait for decisions or results from outside this process. */
  get waitsOutside(): boolean {
    return !this.#closed && this.#waits.areOutside;
  }

  /**
   * Takes one call through the gate. Resolves with its answer, or with undefined if the call or the session ended before
   * there was one. `past` is for a call that another driver has left open. Rejects only if the journal does.
   */
  async call(request: CallRequest, past: PastCall = {}): Promise<Answer | undefined> {
    const found = this.#admission.toolOf(request);
    if (!("handler" in found)) return this.#refuse(request, found);
    if (this.#closed || this.#givenUp.has(request.callId)) return this.#drop(request);
    const refusal = this.#admission.takeInput(request);
    if (refusal) return this.#refuse(request, refusal);

    return this.callOf(found, request, past);
  }

  /** Takes a call that is admitted already, of a tool that need not be among the session's, from its approval on. */
  async callOf(tool: Tool, request: CallRequest, past: PastCall = {}): Promise<Answer | undefined> {
    if (this.#closed) return this.#drop(request);
    const call = new OpenCall(tool, request);
    this.#open.set(request.callId, call);
    try {
      const answer = await call.orOver(() => this.#goOn(call, past));
      await call.dropped;
      return answer === OVER || this.#closed ? undefined : answer;
    } finally {
      this.#admission.giveBackInput(call);
    }
  }

  /**
   * Counts work that is not a call of a tool, like a program that a model hands over. Resolves with the refusal if the
   * limit of calls is exceeded.
   */
  async countCall(about: CallIdentity): Promise<Answer | undefined> {
    const refusal = this.#admission.countCall(about.tool);
    return refusal && this.#refuse(about, refusal);
  }

  /** Passes a decision or a result from outside to its call. The journal holds it already. Without such a call it does nothing. */
  take(record: OutsideRecord): void {
    this.#waits.take(record);
  }

  /** The owner has read the answer of a call. Returns the memory that the answer takes. */
  noteRead(callId: string): number {
    return this.#options.unread?.remove(callId) ?? 0;
  }

  /** Gives up a call: aborts it if it has no answer yet, and drops a later result of its handler. */
  async giveUp(callId: string, reason: string): Promise<void> {
    this.#givenUp.add(callId);
    const call = this.#open.get(callId);
    if (!call) return;
    this.#remove(callId);
    call.dropped = this.#drop(call.identity);
    this.#abort(call, reason);
    await call.dropped;
  }

  /** Resolves once every call that was open when the session closed is journalled and listed. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Ends the session and leaves its calls open in the journal, for another driver. */
  suspend(): void {
    for (const call of this.#shut()) call.end("The execution waits.");
    if (!this.#options.share) this.share.end();
  }

  /** Ends the session: aborts open calls, starts no more, and drops later answers. */
  close(): void {
    if (this.#closed) return;
    const open = this.#shut();
    // Work that is under way is aborted at once. Calls that only wait cannot start any more, and there may be thousands.
    for (const call of open) if (call.isUnderWay) this.#endOpen(call);
    const ending = this.share.lane.work(this.#endAll(open.filter((call) => !call.isOver)));
    this.#ended = Promise.resolve(ending);
    if (!this.#options.share) this.share.end();
  }

  #shut(): readonly OpenCall[] {
    this.#closed = true;
    const open = [...this.#open.values()];
    this.#open.clear();
    this.#queues.close();
    this.#waits.close();
    this.#options.unread?.close();
    this.#endBelow?.();
    return open;
  }

  get resultBytes(): number {
    return this.#options.limits.resultBytes;
  }

  async ask(call: OpenCall, question: unknown): Promise<boolean> {
    const { execution, scope } = this.#options;
    const { tenant, context, approve } = scope;
    if (!approve || this.#isGone(call)) return false;
    const text = JSON.stringify(question);
    const { identity, signal } = call;
    const request = { execution, ...identity, inputDigest: hash("sha256", text), tenant, context, signal };
    const endWaiting = this.beginBelow(identity.callId, { waitsForApproval: true });
    try {
      const { approval, error } = await this.#inContext(() => askApproval(approve, request, text));
      call.noticed ??= error ?? (approval === "later" ? sentences.cannotWait(call.tool.name) : undefined);
      return approval !== "later" && approval.type === "approved" && !this.#isGone(call);
    } finally {
      endWaiting();
    }
  }

  note(line: CallLine): void {
    this.#ledger.note(line);
  }

  beginBelow(callId: string, work: WorkBelow): () => void {
    return this.#waits.beginBelow(callId, work);
  }

  *#endAll(open: readonly OpenCall[]): SlicedWork<void> {
    for (const call of open) {
      this.#endOpen(call);
      yield;
    }
  }

  #endOpen(call: OpenCall): void {
    if (!call.decided) {
      call.dropped = this.#drop(call.identity);
      // The call may have failed already, with the journal, and is then not awaited any more.
      call.dropped.catch(() => {});
    }
    this.#abort(call, "The execution has ended.");
  }

  /** Continues a call where the journal says that it is; a new one from its beginning. */
  async #goOn(call: OpenCall, { decided, decision, result }: PastCall): Promise<Answer | undefined> {
    const { identity } = call;
    switch (decided?.decision) {
      case "held":
        call.approval = { type: "held" };
        this.#waits.hold(identity.callId, decided.at);
        if (decision) return this.#obey(call, decision, decided.code);
        if (decided.code === OUTCOME_UNKNOWN) return this.#waitOutside(call, decided.code);
        return this.#decideAlike(call) ?? (this.scope.approve ? this.#askAndRun(call) : this.#waitOutside(call));
      case "client":
        this.#waits.hold(identity.callId, decided.at);
        return result ? this.#obey(call, result) : this.#waitOutside(call);
      case "allowed":
        return this.#repeat(call);
      case "refused":
        // The program has not been told yet. What was decided, or not in time, holds.
        if (decision?.allow === false) return this.#obey(call, decision);
        if (decided.code === "approval_expired") call.approval = { type: "held" };
        return call.approval ? this.#expired(call) : this.#begin(call);
      default:
        return this.#begin(call);
    }
  }

  #begin(call: OpenCall): Promise<Answer | undefined> {
    return call.tool.approvable ? this.#approveAndRun(call) : this.#runAtItsTurn(call);
  }

  /** Continues a call whose driver died while its handler may have run. */
  async #repeat(call: OpenCall): Promise<Answer | undefined> {
    const { tool, identity, inputDigest } = call;
    if (tool.effect !== "write" || tool.onUnknown === "retry") return this.#runAtItsTurn(call);
    if (tool.onUnknown === "fail" || !this.#options.canWait) return this.#failUnknown(call);
    this.#waits.hold(identity.callId);
    await this.#ledger.decided(identity, { decision: "held", code: OUTCOME_UNKNOWN, inputDigest });
    return this.#waitOutside(call, OUTCOME_UNKNOWN);
  }

  #failUnknown(call: OpenCall): Answer | undefined {
    if (!this.#remove(call.identity.callId)) return undefined;
    call.started = true;
    return this.#fail(call, sentences.outcomeUnknown(call.tool.name));
  }

  /** `code` is that of the record by which the call is held. */
  async #waitOutside(call: OpenCall, code?: string): Promise<Answer | undefined> {
    this.#admission.giveBackInput(call);
    const arriving = this.#waits.untilArrival(call.identity.callId);
    this.onWaiting(call.identity.callId);
    const arrival = await arriving;
    return arrival && !this.#isGone(call) ? this.#follow(call, arrival, code) : undefined;
  }

  /** Takes over what others have decided by now, and ends the waiting of calls whose time is over. */
  async #expireCalls(): Promise<void> {
    // If the journal fails here, it also refuses the records that follow, and the calls reject with that.
    await this.#ledger.catchUp().catch(() => {});
    if (!this.#closed) await this.share.lane.work(this.#waits.expire());
  }

  /** The answer to a call that has waited for too long. An approver that was asked is told. */
  async #expired(call: OpenCall, code?: string): Promise<Answer | undefined> {
    const { tool, identity, approval } = call;
    const { waitMs = 0 } = this.#options.limits;
    this.#waits.release(identity.callId);
    call.endHandler(`No answer came within ${waitMs} ms.`);
    if (code === OUTCOME_UNKNOWN) return this.#failUnknown(call);
    if (approval?.type === "held") return this.#refuse(call, sentences.approvalExpired(tool.name, waitMs));
    return this.#remove(identity.callId) ? this.#fail(call, sentences.resultExpired(tool, waitMs)) : undefined;
  }

  /** Goes on with a call that has waited, as what has come for it says. */
  async #follow(call: OpenCall, arrival: Arrival, code?: string): Promise<Answer | undefined> {
    if (arrival.type === "expired") return this.#expired(call, code);
    if (arrival.type === "decision" && code !== OUTCOME_UNKNOWN) this.#remember(call, arrival);
    return this.#obey(call, arrival, code);
  }

  #remember({ identity, inputDigest }: OpenCall, decision: DecisionRecord): void {
    this.#remembered.note({ tool: identity.tool, inputDigest, decision });
  }

  /** Does what a decision or a result from outside says. */
  async #obey(call: OpenCall, record: OutsideRecord, code?: string): Promise<Answer | undefined> {
    const { tool, identity } = call;
    this.#waits.release(identity.callId);
    if (record.type === "result") {
      if (record.value !== undefined) return this.#deliver(call, record.value);
      return this.#remove(identity.callId)
        ? this.#fail(call, sentences.clientFailed(tool.name, record.error ?? ""))
        : undefined;
    }
    if (record.done !== undefined) return this.#deliver(call, record.done);
    if (code !== OUTCOME_UNKNOWN) return this.#carryOut(call, record);
    return record.allow ? this.#runAtItsTurn(call) : this.#failUnknown(call);
  }

  /** Does what was decided about a call that needs approval. The journal holds the decision, or will before it holds anything else. */
  #carryOut(
    call: OpenCall,
    decision: DecisionRecord,
    { read, error }: { readonly read?: { readonly input: unknown }; readonly error?: Error | undefined } = {},
  ): Promise<Answer | undefined> {
    const { tool } = call;
    const { allow, note } = decision;
    call.approval = { type: allow ? "approved" : "denied", ...detailsOf(decision) };
    return allow
      ? this.#runAtItsTurn(call, read)
      : this.#refuse(call, sentences.approvalDenied(tool.name, note), error);
  }

  /** Decides a held call as a remembered decision says; undefined without one. */
  #decideAlike(call: OpenCall): Promise<Answer | undefined> | undefined {
    const { identity, inputDigest } = call;
    const known = this.#remembered.of(identity.tool, inputDigest);
    if (!known) return undefined;
    this.#waits.release(identity.callId);
    const { by, note } = detailsOf(known);
    const words = { ...(by === undefined ? {} : { by }), ...(note === undefined ? {} : { note }) };
    const approval = { type: known.allow ? "approved" : "denied", ...words } as const;
    // It is written with what follows from it, which is awaited.
    return this.#carryOut(call, this.#ledger.approved(identity, approval, known.call).record);
  }

  /** Answers a call with a value from outside this process. */
  async #deliver(call: OpenCall, text: string): Promise<Answer | undefined> {
    call.started = true;
    return this.#finish(call, await readResult(call, text, this.#options.limits.resultBytes, this.share));
  }

  /**
   * Runs a call that may need approval. Its input is parsed for that check, and parsed again when its approval is
   * requested, so that waiting calls hold only their text. Calls that need no approval do not wait for those that do.
   */
  async #approveAndRun(call: OpenCall): Promise<Answer | undefined> {
    const checked = await this.#queues.check(() =>
      this.#withInput(call, async (input) =>
        (await this.#needsApproval(call, input)) ? NEEDS_APPROVAL : this.#runAtItsTurn(call, { input }),
      ),
    );
    if (checked !== NEEDS_APPROVAL) return checked;
    this.#admission.giveBackInput(call);

    if (this.#isGone(call)) return undefined;
    const { identity, inputDigest, tool } = call;
    const isKnown = this.#remembered.of(identity.tool, inputDigest) !== undefined;
    if (!isKnown && !this.scope.approve)
      return this.#refuse(call, sentences.approvalUnavailable(tool.name), sentences.approveMissing(tool.name));
    call.approval = { type: "held" };
    this.#waits.hold(identity.callId);
    const held = this.#ledger.decided(identity, { decision: "held", inputDigest });
    if (!isKnown) await held;
    if (this.#isGone(call)) return undefined;
    return this.#decideAlike(call) ?? this.#askAndRun(call);
  }

  /** A call whose decision comes later leaves the queue of approvals. */
  async #askAndRun(call: OpenCall): Promise<Answer | undefined> {
    const asked = await this.#queues.approve(() => this.#withInput(call, (input) => this.#decideAndRun(call, input)));
    return asked === LATER ? this.#waitOutside(call) : asked;
  }

  /** If the predicate throws, the call needs approval. */
  async #needsApproval(call: OpenCall, input: unknown): Promise<boolean> {
    try {
      return await this.#inContext(() => call.tool.needsApproval(input));
    } catch (error) {
      call.noticed = sentences.predicateFailed(call.tool.name, error);
      return true;
    }
  }

  async #decideAndRun(call: OpenCall, input: unknown): Promise<Answer | undefined | typeof LATER> {
    if (this.#isGone(call)) return undefined;
    // While the call waited to be asked about, an equal one may have been decided.
    const alike = this.#decideAlike(call);
    if (alike) return alike;
    const { identity, inputText, inputDigest, signal } = call;
    const { execution, scope } = this.#options;
    const { tenant, context, approve } = scope;
    const request = { execution, ...identity, inputDigest, tenant, context, signal };
    const asked = this.#inContext(() => askApproval(approve, request, inputText));
    const decided = await Promise.race([asked, this.#waits.arrivalOf(identity.callId) ?? asked]);
    if (this.#isGone(call)) return undefined;
    // A decision from outside came first, or the time is over.
    if ("type" in decided) return this.#follow(call, decided);
    const { approval, error } = decided;
    if (approval === "later") {
      if (this.#options.canWait) return LATER;
      return this.#refuse(call, sentences.approvalUnavailable(call.tool.name), sentences.cannotWait(call.tool.name));
    }
    this.#waits.release(identity.callId);
    const { record, done } = this.#ledger.approved(identity, approval);
    await done;
    // A record from outside that came by now is in the journal before this decision, and the first one holds.
    const first = this.#waits.arrived(identity.callId);
    if (first) return this.#follow(call, first);
    this.#remember(call, record);
    return this.#carryOut(call, record, { read: { input }, error });
  }

  /**
   * Runs a call when the concurrency of its execution and its tool allows it, and the program has read enough of its
   * answers. Reads its input then, unless it was read before. The result becomes text after the tool is free again: a
   * program that reads nothing does not keep others from it.
   */
  #runAtItsTurn(call: OpenCall, read?: { readonly input: unknown }): Promise<Answer | undefined> {
    if (call.tool.handler === "client") return this.#withInput(call, () => this.#askClient(call));
    const run = () => (read ? this.#run(call, read.input) : this.#withInput(call, (input) => this.#run(call, input)));
    return this.#queues.run(async (closing) => {
      const room = this.#options.unread?.whenRoom();
      if (room) await room;
      const ran = await this.#gate.whenFree(call.tool, run, closing);
      return ran instanceof Returned ? this.#answerWith(call, ran.value) : ran;
    });
  }

  /** Reads a call's input and passes it to `goOn`, or refuses the call. */
  async #withInput<Value>(
    call: OpenCall,
    goOn: (input: unknown) => Promise<Value>,
  ): Promise<Value | Answer | undefined> {
    const reading = this.#admission.readInput(call);
    const read = reading instanceof Promise ? await reading : reading;
    if (!read) return undefined;
    return read.ok ? goOn(read.value) : this.#refuse(call, read);
  }

  /** Journals `allowed`, then runs the handler: from then on the tool may take effect. */
  async #run(call: OpenCall, input: unknown): Promise<Answer | Returned | undefined> {
    if (this.#isGone(call)) return undefined;
    const { identity } = call;
    call.decided = true;
    await this.#ledger.allowed(call);
    if (this.#isGone(call)) return undefined;
    this.#ledger.started(identity);
    const { execution, scope } = this.#options;
    const context = call.contextIn(execution, scope, this);
    const handled = await this.#inContext(() => runHandler(call, input, context));
    return handled instanceof Returned ? handled : this.#finish(call, handled);
  }

  /** Makes the answer of what a handler returned. That of a large result waits until the program has read those before it. */
  #answerWith(call: OpenCall, returned: unknown): Answer | undefined | Promise<Answer | undefined> {
    const { unread, limits } = this.#options;
    const make = () => {
      if (this.#isGone(call)) return undefined;
      const made = this.#inContext(() => toText(call, returned, limits.resultBytes, this.share));
      return made instanceof Promise ? made.then((handled) => this.#finish(call, handled)) : this.#finish(call, made);
    };
    return unread && isLarge(returned) ? unread.makeLarge(make) : make();
  }

  /**
   * Searches among the tools of this session. A model that also writes programs searches among those for programs: it is
   * told of the others. The operator is told where the search could not do all that it was set up for.
   */
  async #search(
    { query, limit }: SearchInput,
    { callId, caller: by, tenant }: CallContext,
  ): Promise<readonly FoundTool[]> {
    const { callers, visibleTo = callers, language = "javascript" } = this.#options;
    const forPrograms = visibleTo.includes("programmatic");
    const among = by === "direct" && this.#deferred.length > 0 ? this.#findable(forPrograms) : undefined;
    const caller = forPrograms || among ? "programmatic" : "direct";
    const call = this.#open.get(callId);
    const onError = (error: unknown) => {
      if (call) call.noticed = error;
    };
    const work = <Value>(slices: SlicedWork<Value>) => this.share.lane.work(slices);
    const found = await this.#gate.search.find({ query, limit, among, caller, tenant, language, work, onError });
    if (call) call.shown = found.map(shownDigest);
    return found;
  }

  get #deferred(): readonly Tool[] {
    return this.#options.deferred ?? [];
  }

  /** What a model finds that has deferred tools: these, and the tools for programs. */
  #findable(forPrograms: boolean): readonly Tool[] {
    this.#found ??= [
      ...new Set([...(forPrograms ? this.#gate.tools.visibleTo(["programmatic"]) : []), ...this.#deferred]),
    ];
    return this.#found;
  }

  /** Asks a client for a call's result. The client answers from outside this process. */
  async #askClient(call: OpenCall): Promise<Answer | undefined> {
    if (this.#isGone(call)) return undefined;
    const { identity, inputDigest, tool } = call;
    if (!this.#options.canWait)
      return this.#remove(identity.callId)
        ? this.#fail(call, sentences.clientFailed(tool.name, ""), sentences.cannotWait(tool.name))
        : undefined;
    call.decided = true;
    this.#waits.hold(identity.callId);
    await this.#ledger.decided(identity, { decision: "client", inputDigest });
    if (this.#isGone(call)) return undefined;
    this.#ledger.started(identity);
    return this.#waitOutside(call);
  }

  #finish(call: OpenCall, handled: Handled): Answer | undefined {
    const { tool, identity } = call;
    if (!this.#remove(identity.callId)) return undefined;
    if (!("shape" in handled)) {
      this.#admission.noteOverdraft(handled.overdraft);
      return this.#fail(call, handled.answer, handled.error);
    }
    const { answer, shape } = handled;
    const failure = this.#admission.takeResult(tool, answer);
    if (failure) return this.#fail(call, failure);
    this.#options.unread?.add(identity.callId, memoryOf(answer.text, answer.bytes));
    this.#ledger.succeeded(call, answer, shape);
    return answer;
  }

  #fail(call: OpenCall, answer: Failure, error?: unknown): Answer {
    this.#admission.takeFailure(answer);
    this.#options.unread?.add(call.identity.callId, memoryOf(answer.message));
    this.#ledger.failed(call, answer, error);
    return answer;
  }

  /** Refuses a call, open or not, unless it has ended. `error` is for the operator. */
  async #refuse(refused: CallIdentity | OpenCall, answer: Refusal, error?: Error): Promise<Answer | undefined> {
    const call = refused instanceof OpenCall ? refused : undefined;
    const identity = refused instanceof OpenCall ? refused.identity : refused;
    if (call && this.#isGone(call)) return undefined;
    if (call) call.decided = true;
    this.#remove(identity.callId);
    this.#admission.takeFailure(answer);
    this.#options.unread?.add(identity.callId, memoryOf(answer.message));
    await this.#ledger.decided(identity, { decision: "refused", code: answer.code });
    this.#ledger.refused(call ?? { identity, since: performance.now() }, answer, error);
    return answer;
  }

  /** Whether a call needs no answer any more. After the session has closed, calls that only wait are ended a slice at a time. */
  #isGone(call: OpenCall): boolean {
    return this.#closed || call.isOver;
  }

  #remove(callId: string): boolean {
    this.#waits.remove(callId);
    return this.#open.delete(callId);
  }

  async #drop(identity: CallIdentity): Promise<undefined> {
    await this.#ledger.decided(identity, { decision: "dropped" });
  }

  #abort(call: OpenCall, reason: string): void {
    call.end(reason);
    this.#ledger.aborted(call);
  }
}

const NEEDS_APPROVAL = Symbol("needs approval");
