/*
 * The gate of one program or one conversation. Calls come in with their inputs as text; each gets one answer, or none
 * if the session closes first. This file joins the parts that decide, run, answer and record calls.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { ForeignRecord } from "../journal/execution-log.ts";
import type { ProgramLanguage } from "../tools/declarations/declarations.ts";
import { type SearchInput, searchTool } from "../tools/search/search-tool.ts";
import type { FoundTool, ToolSearch } from "../tools/search/tool-search.ts";
import { shownDigest } from "../tools/tool-digest.ts";
import type { AllowedQuestion, CallContext, Caller, Effect, Tool } from "../tools/tool.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import { type HeldBytes, ignore, PortcullisError, type Share, type SlicedWork } from "../base/index.ts";
import { Admission } from "./admit/admission.ts";
import { type Answer, approverOf, type HandlerAnswer } from "./answer.ts";
import type { Budget, GateLimits, Overdraft, PastBudget } from "./admit/budget.ts";
import { CallLedger, isOfSurface, type LedgerParts, type UnmadeCall } from "./call-ledger.ts";
import type { CallLine } from "./call-line.ts";
import { callQueues } from "./queues/call-queues.ts";
import { CallRunner } from "./run/call-runner.ts";
import { HandlerContext } from "./run/handler-context.ts";
import { CallSteps, type StepsParts } from "./call-steps.ts";
import type { ParentSession, WorkBelow, WorkScope } from "./work-scope.ts";
import { OVER } from "./call-end.ts";
import { type CallIdentity, type CallRequest, OpenCall, type PastCall } from "./open-call.ts";
import { OpenCalls } from "./open-calls.ts";
import { type RememberedDecision, rememberedDecisions } from "./approve/remembered.ts";
import { type ArtifactPlace, sessionArtifacts } from "./artifacts/session-artifacts.ts";
import type { EarlierCalls } from "./reuse/earlier-calls.ts";
import { streamEnded } from "./streams/stream-reader.ts";
import { STOPPED } from "./streams/stream-run.ts";
import type { ToolQueues } from "./queues/tool-queues.ts";
import type { UnreadAnswers } from "./run/unread-answers.ts";

export interface SharedRules {
  readonly tools: ToolSet;
  readonly search: ToolSearch;
  readonly held: HeldBytes;
  readonly toolQueues: ToolQueues;
}

export interface SessionOptions extends LedgerParts {
  /** Who the calls are made for. Tenants share the host's thread in equal parts. */
  readonly scope: WorkScope;
  /** The execution's share of memory and thread, ended by its owner; by default a share that ends with the session. */
  readonly share?: Share;
  readonly callers: readonly Caller[];
  /**
   * The callers whose tools exist in this session; `callers` by default. A model that writes programs also sees the
   * tools for programs, and a direct call of such a tool is refused with `caller_not_allowed`.
   */
  readonly visibleTo?: readonly Caller[];
  /** Whether the host itself calls. The host is told if a tool exists for other callers only. */
  readonly isHosts?: boolean;
  /** Tools that a model may call directly and finds by a search. */
  readonly deferred?: readonly Tool[];
  /** Language of the stubs that a search finds; JavaScript by default. */
  readonly language?: ProgramLanguage;
  readonly limits: GateLimits;
  /** Whether the execution may end its driving to wait for decisions or results from outside; false by default. */
  readonly canWait?: boolean;
  /** Where its programs keep values; without it they cannot. */
  readonly artifacts?: ArtifactPlace | undefined;
  /** Bounds the answers that the owner has not read; a model reads them all at once. The owner calls `noteRead`. */
  readonly unread?: UnreadAnswers | undefined;
  readonly past?: PastUse | undefined;
  readonly startedAt?: number | undefined;
  /** Calls of earlier executions that stand for calls of this one. */
  readonly earlier?: EarlierCalls | undefined;
  /** Tokens that models may use; unlimited by default. */
  readonly maxTokens?: number;
}

export interface PastUse extends PastBudget {
  /** Calls that have ended, in the order of their ends. */
  readonly lines: readonly CallLine[];
  readonly remembered?: readonly RememberedDecision[];
}

/**
 * The calls of one execution or conversation, until it is closed. `Admission` knows which calls may be made, `CallSteps`
 * what happens to them then, `OpenCalls` how they end, `CallLedger` what becomes known of them.
 */
export class GateSession implements ParentSession, WorkBelow {
  readonly share: Share;
  /**
   * Whether the owner waits only for its calls. A running program, a program with timers and a model that was asked do
   * more.
   */
  isOwnerIdle: () => boolean = () => true;
  /** Called with the id of a call that begins to wait for a decision or a result from outside, and for nothing else. */
  onWaiting: (callId: string) => void = ignore;
  readonly #parts: SessionOptions & Pick<StepsParts, "queues" | "remembered">;
  readonly #admission: Admission;
  readonly #calls: OpenCalls;
  readonly #ledger: CallLedger;
  readonly #steps: CallSteps;
  readonly #endBelow: (() => void) | undefined;
  readonly #unmade: UnmadeCall[] = [];
  #ended: Promise<void> = Promise.resolve();

  constructor(gate: SharedRules, options: SessionOptions) {
    const { above, artifacts, callers, execution, limits, past, scope, visibleTo = callers } = options;
    const share = options.share ?? gate.held.share(scope.tenant, limits.totalBytes);
    const base = { ...gate, ...options, share, visibleTo };
    const search = searchTool((input, context) => this.#search(gate, input, context));
    const kept = artifacts && sessionArtifacts(artifacts, limits.artifacts, share, scope.redactor);
    const own = new Map([search, ...(kept?.tools ?? [])].map((tool) => [tool.name, tool]));
    const admission = (this.#admission = new Admission({ ...base, own, kept }));
    if (past) admission.budget.restore(past);
    const ledger = (this.#ledger = new CallLedger(options));
    const calls = (this.#calls = new OpenCalls({ ...base, admission, ledger }));
    const parts = {
      ...base,
      admission,
      ledger,
      calls,
      queues: callQueues(limits.concurrentCalls),
      remembered: rememberedDecisions(past?.remembered),
      inContext: AsyncLocalStorage.snapshot(),
    };
    const contextOf = (call: OpenCall) => new HandlerContext(call, execution, this);
    this.#steps = new CallSteps({
      ...parts,
      runner: new CallRunner({ ...parts, contextOf }),
      isGoverned: ({ name }) => !own.has(name) && gate.tools.get(name) !== undefined,
      onWaiting: (callId) => this.onWaiting(callId),
    });
    this.#parts = { ...parts, share: options.share };
    this.share = share;
    this.#endBelow = above?.session.beginBelow(above.callId, this);
  }

  /**
   * Searches among its tools. A model that also writes programs searches only the tools for programs: it is told of the
   * others. The operator is told if the search could not do all that it was set up for.
   */
  async #search(
    { search, tools }: SharedRules,
    { query, limit }: SearchInput,
    { callId, caller: by, tenant }: CallContext,
  ): Promise<readonly FoundTool[]> {
    const { callers, visibleTo = callers, deferred = [], language = "javascript", scope } = this.#parts;
    const forPrograms = visibleTo.includes("programmatic");
    const ofPrograms = forPrograms ? tools.visibleTo(["programmatic"]) : [];
    const among = by === "direct" && deferred.length > 0 ? [...new Set([...ofPrograms, ...deferred])] : undefined;
    const caller = forPrograms || among ? "programmatic" : "direct";
    const call = this.#calls.get(callId);
    const onError = (error: unknown) => {
      // The error of a host's `embed` without its cause, which may quote what was searched for: no log holds that.
      if (call) call.noticed = PortcullisError.is(error) ? new PortcullisError(error.code, error.message) : error;
    };
    const work = <Value>(slices: SlicedWork<Value>) => this.share.lane.work(slices);
    const shown = scope.observed?.shown;
    const found = await search.find({ query, limit, among, caller, tenant, language, shown, work, onError });
    if (call) call.handling.extras = { shown: found.map(shownDigest) };
    return found;
  }

  get scope(): WorkScope {
    return this.#parts.scope;
  }

  /** A journal in memory forgets what a client may still repeat under its id: that is one run, by one key of each call. */
  get run(): string {
    const { execution, log, startedAt } = this.#parts;
    return log.isDurable && startedAt !== undefined ? `${execution}:${startedAt}` : execution;
  }

  get budget(): Budget {
    return this.#admission.budget;
  }

  get ledger(): Pick<CallLedger, "lines" | "inputs" | "streamedBytes"> {
    return this.#ledger;
  }

  get usage(): Readonly<Record<"calls" | "open" | "resultBytes", number>> {
    const { calls, resultBytes } = this.budget;
    return { calls, open: this.#calls.size, resultBytes };
  }

  isNamed(digest: string): boolean {
    return this.#ledger.isNamed(digest);
  }

  /** The used budget, from which another session of the same execution continues. */
  get pastUse(): PastUse {
    const { calls, inputBytes, resultBytes } = this.budget;
    const lines = [...this.ledger.lines];
    return { calls, openCalls: 0, inputBytes, resultBytes, lines, remembered: this.#parts.remembered.all };
  }

  get overdraft(): Overdraft | undefined {
    return this.#admission.overdraft;
  }

  /** Whether its calls, and what they have started, wait for approvals and for nothing else. */
  get waitsForApproval(): boolean {
    return !this.#calls.isClosed && this.#calls.waits.areApprovals && this.isOwnerIdle();
  }

  /** Whether a call waits for a decision or a result from outside this process, and for nothing else. */
  waitsFor(callId: string): boolean {
    return this.#calls.waits.isOutside(callId);
  }

  get waitsOutside(): boolean {
    return !this.#calls.isClosed && this.#calls.waits.areOutside;
  }

  /**
   * Takes one call through the gate. Resolves with its answer, or with undefined if the call or the session ended before
   * there was one. `past` is for a call that another driver has left open. Rejects only if the journal does.
   */
  call(request: CallRequest, past: PastCall = {}): Promise<Answer | undefined> {
    const found = this.#admission.toolOf(request);
    if (!("execute" in found)) return this.#calls.refuse(request, found);
    if (this.#calls.isClosed || this.#calls.isGivenUp(request.callId)) return this.#calls.drop(request);
    const { inputBytes = Buffer.byteLength(request.inputText) } = request;
    const refusal = this.#admission.takeInput(request, inputBytes);
    if (refusal) return this.#calls.refuse(request, refusal);

    // A call that an earlier driver has let in stays in: the streams beside it may have ended there.
    const isLetIn = past.ruling !== undefined && past.ruling.decision !== "refused";
    const isNewStream = found.stream && request.reader && !isLetIn;
    const overStreams = isNewStream && this.#admission.overStreams(found, this.#calls.streams);
    if (overStreams) return this.#calls.refuse(request, overStreams);

    const span = this.#parts.spans?.begin({ ...request, isClients: isOfSurface(this.#parts.scope) });
    return this.#answer(new OpenCall(found, request, { isCounted: true, span, inputBytes }), past);
  }

  /** Takes an admitted call through the gate, from its approval on. The tool need not be among the session's. */
  callOf(tool: Tool, request: CallRequest, past: PastCall = {}): Promise<Answer | undefined> {
    return this.#calls.isClosed ? this.#calls.drop(request) : this.#answer(new OpenCall(tool, request), past);
  }

  #answer(call: OpenCall, past: PastCall): Promise<Answer | undefined> {
    this.#calls.add(call);
    return call.or<Answer | undefined, Answer | undefined>(
      () => this.#steps.goOn(call, past),
      (answer) => {
        this.#admission.end(call);
        if (call.dropped) return call.dropped.then(() => undefined);
        return answer === OVER || this.#calls.isClosed ? undefined : withApprover(answer, call);
      },
      (error) => {
        this.#admission.end(call);
        throw error;
      },
    );
  }

  /**
   * Counts work that is not a call of a tool, like a program that a model hands over. Resolves with the refusal if the
   * limit of calls is exceeded.
   */
  async countCall(about: CallIdentity): Promise<Answer | undefined> {
    const refusal = this.#admission.countCall(about.tool);
    return refusal && this.#calls.refuse(about, refusal);
  }

  effectOf(request: Pick<CallRequest, "tool" | "inputText">): Promise<Effect> {
    return this.#admission.effectOf(request);
  }

  /** Passes the records of others to the calls that wait for them. Records that no call waits for are dropped. */
  take(records: readonly ForeignRecord[]): void {
    for (const record of records) if (record.type !== "alive") this.#calls.waits.take(record);
  }

  /** A call that goes no further, because its owner has ended. It is listed when the session closes. */
  noteUnmade(call: UnmadeCall): void {
    this.#unmade.push(call);
  }

  /** The owner has read the answer of a call, or a batch of it that takes `bytes`. Returns the memory that it takes. */
  noteRead(callId: string, bytes?: number): number {
    if (bytes !== undefined) this.#calls.get(callId)?.handling.stream?.tell();
    return this.#parts.unread?.remove(callId, bytes) ?? 0;
  }

  more(callId: string): void {
    this.#calls.get(callId)?.more();
  }

  /** The owner has left a call's stream, and says so by `stopReading` soon. Streams that it begins meanwhile find the place free. */
  noteLeft(callId: string): void {
    const call = this.#calls.get(callId);
    if (call) this.#calls.streams.delete(call);
  }

  /** The owner reads no more of a call's stream. Of any other call the owner cannot do without the answer. */
  stopReading(callId: string): Promise<void> {
    const call = this.#calls.get(callId);
    if (!call?.reader) return Promise.resolve();
    const { stream } = call.handling;
    const handled = stream ? stream.stop() : this.#leftBefore(call);
    if (!stream && !handled) return this.giveUp(callId, STOPPED);
    // Without it the stream has ended, and its answer is being made.
    if (handled) {
      this.#calls.finish(call, handled);
      call.end(STOPPED);
    }
    return Promise.resolve();
  }

  /** How a call ends that nothing is read of any more before its stream goes on. The outcome of a write may be unknown, and remains so. */
  #leftBefore({ handling: { streamed }, identity }: OpenCall): HandlerAnswer | undefined {
    return streamed && !this.waitsFor(identity.callId) ? streamEnded(streamed, false) : undefined;
  }

  /** Gives up a call: aborts it if it has no answer yet, and drops a later result of its handler. */
  giveUp(callId: string, reason: string): Promise<void> {
    return this.#calls.giveUp(callId, reason);
  }

  get limits(): GateLimits {
    return this.#parts.limits;
  }

  ask(call: OpenCall, question: unknown): Promise<AllowedQuestion | false> {
    return this.#steps.ask(call, question);
  }

  note(line: CallLine): void {
    this.#ledger.note(line);
  }

  beginBelow(callId: string, work: WorkBelow): () => void {
    return this.#calls.waits.beginBelow(callId, work);
  }

  /** Ends the session and leaves its calls open in the journal, for another driver, with which they arrive and count again. */
  suspend(reason: string | Error = "The execution waits."): void {
    if (this.#calls.isClosed) return;
    const open = this.#shut();
    this.budget.giveBackCalls(open.filter(({ isCounted }) => isCounted).length);
    for (const call of open) {
      call.end(reason);
      this.#ledger.noteWaiting(call);
    }
    if (!this.#parts.share) this.share.end();
  }

  /** Ends the session: aborts open calls, starts no more, and drops later answers. */
  close(): void {
    if (this.#calls.isClosed) return;
    const open = this.#shut();
    // Work that is under way is aborted at once. Calls that only wait cannot start any more, and there may be thousands.
    for (const call of open) if (call.isUnderWay) this.#end(call);
    const ending = this.share.lane.work(this.#endAll(open.filter((call) => !call.isOver)));
    this.#ended = Promise.resolve(ending);
    if (!this.#parts.share) this.share.end();
  }

  /** Resolves once every call that was open when the session closed is journalled and listed. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  #shut(): readonly OpenCall[] {
    const open = this.#calls.close();
    this.#parts.queues.close();
    this.#endBelow?.();
    return open;
  }

  *#endAll(open: readonly OpenCall[]): SlicedWork<void> {
    for (const call of open) {
      this.#end(call);
      yield;
    }
    for (const call of this.#unmade) {
      this.#ledger.unmade(call);
      yield;
    }
  }

  #end(call: OpenCall): void {
    this.#calls.end(call, "The execution has ended.");
  }
}

function withApprover(answer: Answer | undefined, { ruling: { approval } }: OpenCall): Answer | undefined {
  const approvedBy = approval?.type === "approved" ? approverOf(approval) : undefined;
  return answer && approvedBy !== undefined ? { ...answer, approvedBy } : answer;
}
