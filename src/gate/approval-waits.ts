import type { OpenCall, WorkBelow } from "./open-call.ts";

/** Interval at which work that a call has started is checked for whether it waits for approvals alone. */
const LOOK_MS = 20;

/** Which open calls of a session wait for approval, and the work that calls have started. */
export class ApprovalWaits {
  readonly #open: ReadonlyMap<string, OpenCall>;
  readonly #held = new Set<string>();
  /** Work that calls have started, by the id of the call. A conversation's programs are no calls of tools, and not open here. */
  readonly #below = new Map<string, WorkBelow>();

  constructor(open: ReadonlyMap<string, OpenCall>) {
    this.#open = open;
  }

  /** Whether calls wait for approval, their own or of the work that they have started, and no call does anything else. */
  get onlyApprovals(): boolean {
    if (this.#held.size + this.#below.size === 0) return false;
    let busy = this.#open.size - this.#held.size;
    for (const [callId, work] of this.#below) {
      if (!work.waitsForApproval) return false;
      if (this.#open.has(callId)) busy -= 1;
    }
    return busy === 0;
  }

  hold(callId: string): void {
    this.#held.add(callId);
  }

  release(callId: string): void {
    this.#held.delete(callId);
  }

  /** Notes work that a call has started, and measures how long it waits for approvals alone. Returns a function that ends both. */
  begin(callId: string, work: WorkBelow): () => void {
    this.#below.set(callId, work);
    const call = this.#open.get(callId);
    const looking = call && setInterval(() => call.approvalClock.look(work.waitsForApproval), LOOK_MS);
    return () => {
      clearInterval(looking);
      this.#below.delete(callId);
    };
  }
}
