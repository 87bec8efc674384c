import { Slots } from "./slots.ts";

/** Created once: creating it takes a part of a short program. */
const CLOSED = new DOMException("The session has closed.", "AbortError");

/**
 * Queues of the calls of one session. Calls that may need approval have their own queues for the input check and for
 * the approval, so that they do not delay calls that need no approval.
 */
export class CallQueues {
  readonly checks: Slots;
  readonly approvals: Slots;
  readonly handlers: Slots;
  /** Removes waiting calls from the queues of tools, which outlive the session. */
  readonly #closing = new AbortController();

  constructor(callsAtOnce: number) {
    this.checks = new Slots(callsAtOnce);
    this.approvals = new Slots(callsAtOnce);
    this.handlers = new Slots(callsAtOnce);
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * No waiting task starts any more. Thousands of them are not rejected in one turn of the event loop: they never end, and
   * are freed with the session.
   */
  close(): void {
    this.#closing.abort(CLOSED);
    for (const queue of [this.checks, this.approvals, this.handlers]) queue.pause();
  }
}
