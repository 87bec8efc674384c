import { after, cancel, every, now, type SlicedWork, type Timer } from "../../base/index.ts";
import type { DecisionRecord, ResultRecord } from "../../journal/record.ts";
import type { WorkBelow } from "../work-scope.ts";
import type { OpenCall } from "../open-call.ts";

/** Records about a call that others than the driver append. */
export type OutsideRecord = DecisionRecord | ResultRecord;

/** The end of a held call's wait: a record, or the end of its time. */
export type Arrival = OutsideRecord | { readonly type: "expired" };

/** Milliseconds between two looks at whether the work that a call has started waits for approvals alone, and whether the time of held calls is over. */
const LOOK_MS = 20;

/** When a call has waited for `waitMs`, if it has waited since `since`. Both times are in milliseconds since 1970. */
export const dueAt = (since: number, waitMs = Infinity): number => since + waitMs;

/** The waits of a session's open calls: for approvals, for outside records, and for work that they have started. */
export class CallWaits {
  readonly #open: ReadonlyMap<string, OpenCall>;
  readonly #waitMs: number | undefined;
  readonly #onDue: () => void;
  /** Calls that wait for approval or for a client, and since when, in milliseconds since 1970. */
  readonly #held = new Map<string, number>();
  /** Calls whose decision or result may come from outside this process. */
  readonly #outside = new Map<string, PromiseWithResolvers<Arrival>>();
  /** The first record that came for each call of `#outside`. */
  readonly #arrived = new Map<string, OutsideRecord>();
  /** Calls of `#outside` that wait for nothing else. */
  readonly #waiting = new Set<string>();
  /** Work that calls have started, by the id of the call. A conversation's programs are no calls of tools, and not open here. */
  readonly #below = new Map<string, WorkBelow>();

  /** When the call that has waited longest has waited for `waitMs`. There is one timer for all. */
  #dueAt = Infinity;
  #timer: Timer | undefined;

  /** `onDue` is called when a call may have waited for `waitMs`. `expire` is to follow. */
  constructor(open: ReadonlyMap<string, OpenCall>, waitMs: number | undefined, onDue: () => void) {
    this.#open = open;
    this.#waitMs = waitMs;
    this.#onDue = onDue;
  }

  /** Whether there are calls, and all wait for approvals: for their own, or in the work that they have started. */
  get areApprovals(): boolean {
    if (this.#held.size + this.#below.size === 0) return false;
    let busy = this.#open.size - this.#held.size;
    for (const [callId, work] of this.#below) {
      if (!work.waitsForApproval) return false;
      if (this.#open.has(callId)) busy -= 1;
    }
    return busy === 0;
  }

  get areOutside(): boolean {
    return this.#waiting.size > 0 && this.#open.size === this.#waiting.size && this.#below.size === 0;
  }

  heldOf(tool: string): readonly OpenCall[] {
    return [...this.#held.keys()].flatMap((callId) => {
      const call = this.#open.get(callId);
      return call?.tool.name === tool ? [call] : [];
    });
  }

  isOutside(callId: string): boolean {
    return this.#waiting.has(callId);
  }

  hold(callId: string, since = now()): void {
    this.#held.set(callId, since);
    this.#arrived.delete(callId);
    this.#outside.set(callId, Promise.withResolvers());
    this.#watch(dueAt(since, this.#waitMs));
  }

  /** Ends the waiting of calls whose time is over. There may be thousands. */
  *expire(): SlicedWork<void> {
    this.#dueAt = Infinity;
    const at = now();
    let next = Infinity;
    for (const [callId, since] of this.#held) {
      const end = dueAt(since, this.#waitMs);
      if (end > at) next = Math.min(next, end);
      else this.#outside.get(callId)?.resolve({ type: "expired" });
      yield;
    }
    this.#watch(Math.max(next, at + LOOK_MS));
  }

  close(): void {
    cancel(this.#timer);
    this.#dueAt = -Infinity;
  }

  #watch(end: number): void {
    if (end >= this.#dueAt) return;
    cancel(this.#timer);
    this.#dueAt = end;
    this.#timer = after(end - now(), this.#onDue);
  }

  release(callId: string): void {
    this.#held.delete(callId);
  }

  remove(callId: string): void {
    this.#held.delete(callId);
    this.#outside.delete(callId);
    this.#arrived.delete(callId);
    this.#waiting.delete(callId);
  }

  /** Passes a record to its call. Without such a call it does nothing. */
  take(record: OutsideRecord): void {
    const arriving = this.#outside.get(record.call);
    if (!arriving || this.#arrived.has(record.call)) return;
    this.#arrived.set(record.call, record);
    arriving.resolve(record);
  }

  arrived(callId: string): OutsideRecord | undefined {
    return this.#arrived.get(callId);
  }

  /** The end of a held call's wait; undefined for a call that does not wait. */
  arrivalOf(callId: string): Promise<Arrival> | undefined {
    return this.#outside.get(callId)?.promise;
  }

  /** Like `arrivalOf`, for a call that waits for nothing else from now on. */
  async untilArrival(callId: string): Promise<Arrival | undefined> {
    this.#waiting.add(callId);
    const arrival = await this.arrivalOf(callId);
    this.#waiting.delete(callId);
    return arrival;
  }

  /** Notes work that a call has started, and measures how long it waits for approvals alone. Returns a function that ends both. */
  beginBelow(callId: string, work: WorkBelow): () => void {
    this.#below.set(callId, work);
    const call = this.#open.get(callId);
    const looking = call && every(LOOK_MS, () => call.approvalWait.look(work.waitsForApproval));
    return () => {
      cancel(looking);
      this.#below.delete(callId);
    };
  }
}
