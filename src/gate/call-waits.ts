import type { DecisionRecord, ResultRecord } from "../journal/record.ts";
import type { OpenCall, WorkBelow } from "./open-call.ts";

/** What others than the driver append about a call. */
export type OutsideRecord = DecisionRecord | ResultRecord;

/** Interval at which work that a call has started is checked for whether it waits for approvals alone. */
const LOOK_MS = 20;

/** What the open calls of a session wait for: approvals, records from outside this process, and work that they have started. */
export class CallWaits {
  readonly #open: ReadonlyMap<string, OpenCall>;
  /** Calls that wait for approval or for a client. */
  readonly #held = new Set<string>();
  /** Calls whose decision or result may come from outside this process. */
  readonly #outside = new Map<string, PromiseWithResolvers<OutsideRecord>>();
  /** Those of them that wait for nothing else. */
  readonly #waiting = new Set<string>();
  /** Work that calls have started, by the id of the call. A conversation's programs are no calls of tools, and not open here. */
  readonly #below = new Map<string, WorkBelow>();

  constructor(open: ReadonlyMap<string, OpenCall>) {
    this.#open = open;
  }

  /** Whether calls are held, or the work that they have started waits for approvals, and no call does anything else. */
  get areApprovals(): boolean {
    if (this.#held.size + this.#below.size === 0) return false;
    let busy = this.#open.size - this.#held.size;
    for (const [callId, work] of this.#below) {
      if (!work.waitsForApproval) return false;
      if (this.#open.has(callId)) busy -= 1;
    }
    return busy === 0;
  }

  /** Whether all open calls wait for records from outside this process. */
  get areOutside(): boolean {
    return this.#waiting.size > 0 && this.#open.size === this.#waiting.size && this.#below.size === 0;
  }

  isOutside(callId: string): boolean {
    return this.#waiting.has(callId);
  }

  hold(callId: string): void {
    this.#held.add(callId);
    this.#outside.set(callId, Promise.withResolvers());
  }

  /** A held call was decided. */
  release(callId: string): void {
    this.#held.delete(callId);
  }

  /** The call has ended. */
  remove(callId: string): void {
    this.#held.delete(callId);
    this.#outside.delete(callId);
    this.#waiting.delete(callId);
  }

  /** Passes a record to its call. Without such a call it does nothing. */
  take(record: OutsideRecord): void {
    this.#outside.get(record.call)?.resolve(record);
  }

  /** The record from outside about a held call. */
  recordOf(callId: string): Promise<OutsideRecord> | undefined {
    return this.#outside.get(callId)?.promise;
  }

  /** The same, for a call that waits for nothing else from now on. */
  async untilRecord(callId: string): Promise<OutsideRecord | undefined> {
    this.#waiting.add(callId);
    const record = await this.recordOf(callId);
    this.#waiting.delete(callId);
    return record;
  }

  /** Notes work that a call has started, and measures how long it waits for approvals alone. Returns a function that ends both. */
  beginBelow(callId: string, work: WorkBelow): () => void {
    this.#below.set(callId, work);
    const call = this.#open.get(callId);
    const looking = call && setInterval(() => call.approvalClock.look(work.waitsForApproval), LOOK_MS);
    return () => {
      clearInterval(looking);
      this.#below.delete(callId);
    };
  }
}
