import { ignore, memoryOf, monotonic, type Share } from "../base/index.ts";
import { type Admission, heldOfFailure } from "./admit/admission.ts";
import type { Answer, Failure, HandlerAnswer, Refusal } from "./answer.ts";
import type { CallLedger } from "./call-ledger.ts";
import { CallWaits } from "./approve/call-waits.ts";
import { type CallIdentity, OpenCall } from "./open-call.ts";
import type { UnreadAnswers } from "./run/unread-answers.ts";
import type { GateLimits } from "./admit/budget.ts";
import type { WorkScope } from "./work-scope.ts";

export interface OpenCallsParts {
  readonly admission: Admission;
  readonly ledger: CallLedger;
  readonly share: Share;
  readonly unread?: UnreadAnswers | undefined;
  readonly limits: GateLimits;
  readonly scope: WorkScope;
}

/** The calls of a session that have no answer yet. Each gets at most one answer, and none after the session has closed. */
export class OpenCalls {
  readonly waits: CallWaits;
  /** Streams that the program reads. One that it has left counts no longer, though its call may still end. */
  readonly streams = new Set<OpenCall>();
  readonly #parts: OpenCallsParts;
  readonly #open = new Map<string, OpenCall>();
  readonly #givenUp = new Set<string>();
  #closed = false;

  constructor(parts: OpenCallsParts) {
    this.#parts = parts;
    this.waits = new CallWaits(this.#open, parts.limits.waitMs, () => void this.#expire());
  }

  get size(): number {
    return this.#open.size;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  get(callId: string): OpenCall | undefined {
    return this.#open.get(callId);
  }

  isGivenUp(callId: string): boolean {
    return this.#givenUp.has(callId);
  }

  /** Whether a call needs no answer any more. After the session has closed, calls that only wait are ended a slice at a time. */
  isGone(call: OpenCall): boolean {
    return this.#closed || call.isOver;
  }

  add(call: OpenCall): void {
    this.#open.set(call.identity.callId, call);
    if (call.reader) this.streams.add(call);
  }

  /** The answer of a call whose handler has run, or whose result came from outside; undefined if it has ended. */
  finish(call: OpenCall, handled: HandlerAnswer | undefined): Answer | undefined {
    const { admission, ledger, unread } = this.#parts;
    const { tool, identity } = call;
    if (!handled || !this.#remove(identity.callId)) return undefined;
    if (!("shape" in handled)) {
      admission.noteOverdraft(handled.overdraft);
      return this.#failed(call, handled.answer, handled.error);
    }
    const { shape } = handled;
    const answer = { ...handled.answer, ...besideOf(call) };
    // The items of a stream were counted as they were given.
    const isStream = answer.items !== undefined;
    const failure = isStream ? undefined : admission.takeResult(call, answer);
    if (failure) return this.#failed(call, failure);
    if (!isStream) unread?.add(identity.callId, memoryOf(answer.text, answer.bytes));
    if (!tool.stream && !call.handling.isReused) this.observe(call, answer.text);
    ledger.succeeded(call, answer, shape);
    return answer;
  }

  observe({ tool }: OpenCall, text: string): void {
    const { scope, share } = this.#parts;
    scope.observed?.note(tool, text, share.lane);
  }

  /** Undefined if the call has ended. `error` is for the operator. */
  fail(call: OpenCall, answer: Failure, error?: unknown): Answer | undefined {
    return this.#remove(call.identity.callId) ? this.#failed(call, answer, error) : undefined;
  }

  /** Refuses a call, open or not, unless it has ended. `error` is for the operator. */
  async refuse(refused: CallIdentity | OpenCall, answer: Refusal, error?: unknown): Promise<Answer | undefined> {
    const { admission, ledger, unread } = this.#parts;
    const call = refused instanceof OpenCall ? refused : undefined;
    const { callId, tool, caller } = refused instanceof OpenCall ? refused.identity : refused;
    if (call && this.isGone(call)) return undefined;
    if (call) call.ruling.isRecorded = true;
    this.#remove(callId);
    admission.takeFailure(answer);
    unread?.add(callId, memoryOf(answer.message));
    const { code } = answer;
    const policy = code === "policy_denied" ? call?.ruling.policy : undefined;
    const identity = { callId, tool, caller };
    await ledger.noteDecision(identity, { decision: "refused", code, policy }, policy === undefined ? undefined : call);
    ledger.refused(call ?? { identity, since: monotonic() }, answer, error);
    return answer;
  }

  async drop(identity: CallIdentity): Promise<undefined> {
    await this.#parts.ledger.noteDecision(identity, { decision: "dropped" });
  }

  /** Aborts a call if it has no answer yet, and drops a later result of its handler. */
  async giveUp(callId: string, reason: string): Promise<void> {
    this.#givenUp.add(callId);
    const call = this.#open.get(callId);
    if (!call) return;
    this.#remove(callId);
    const dropped = this.drop(call.identity);
    this.#abort(call, reason, dropped);
    await dropped;
  }

  /** No call gets an answer any more. Returns those that have none; `end` ends one of them. */
  close(): readonly OpenCall[] {
    this.#closed = true;
    const open = [...this.#open.values()];
    this.#open.clear();
    this.waits.close();
    this.#parts.unread?.close();
    return open;
  }

  end(call: OpenCall, reason: string): void {
    const dropped = call.ruling.isRecorded ? undefined : this.drop(call.identity);
    // The call may have failed already, with the journal, and is then not awaited any more.
    dropped?.catch(ignore);
    this.#abort(call, reason, dropped);
  }

  #failed(call: OpenCall, failure: Failure, error?: unknown): Answer {
    const { admission, ledger, unread } = this.#parts;
    // Without a value it is not the handler's result.
    const whole = failure.value === undefined ? failure : { ...failure, ...besideOf(call) };
    const answer = admission.takeFailure(whole, call.handling) ?? whole;
    unread?.add(call.identity.callId, heldOfFailure(answer));
    ledger.failed(call, answer, error);
    return answer;
  }

  #remove(callId: string): boolean {
    this.waits.remove(callId);
    const call = this.#open.get(callId);
    if (call) this.streams.delete(call);
    this.#parts.unread?.end(callId);
    return this.#open.delete(callId);
  }

  #abort(call: OpenCall, reason: string, dropped?: Promise<unknown>): void {
    call.end(reason, dropped);
    this.#parts.ledger.aborted(call);
  }

  /** Takes over what others have decided by now, and ends the waiting of calls whose time is over. */
  async #expire(): Promise<void> {
    const { ledger, share } = this.#parts;
    // If the journal fails here, it also refuses the records that follow, and the calls reject with that.
    await ledger.catchUp().catch(ignore);
    if (!this.#closed) await share.lane.work(this.waits.expire());
  }
}

/** What the handler gave for a model beside its value. */
function besideOf({ handling: { extras } }: OpenCall): Pick<Answer, "parts" | "from" | "redacted"> {
  return { parts: extras.parts, from: extras.from, redacted: extras.redacted };
}
