import { Slots } from "./slots.ts";

/** Created once: creating it takes a part of a short program. */
const CLOSED = new DOMException("The session has closed.", "AbortError");

/**
 * Queues of the calls of one session. Calls that may need approval have their own queues for the input check and for
 * the approval, so that they do not delay calls that need no approval.
 */
export class CallQueues {
  readonly #concurrency: number;
  readonly #handlers: Slots;
  /** Created on first use: most sessions have no call that may need approval. */
  #checks: Slots | undefined;
  #approvals: Slots | undefined;
  /** Removes waiting calls from the queues of tools, which outlive the session. */
  readonly #closing = new AbortController();

  constructor(callsAtOnce: number) {
    this.#concurrency = callsAtOnce;
    this.#handlers = new Slots(callsAtOnce);
  }

  /** Queues the check whether a call needs approval. */
  check<Value>(task: () => Promise<Value>): Promise<Value | undefined> {
    this.#checks ??= new Slots(this.#concurrency);
    return this.#checks.run(task);
  }

  approve<Value>(task: () => Promise<Value>): Promise<Value | undefined> {
    this.#approvals ??= new Slots(this.#concurrency);
    return this.#approvals.run(task);
  }

  /** Queues a handler. `task` gets a signal that is aborted when the queues close. */
  run<Value>(task: (closing: AbortSignal) => Promise<Value>): Promise<Value> {
    return this.#handlers.run(() => task(this.#closing.signal));
  }

  /**
   * No waiting task starts any more. Thousands of them are not rejected in one turn of the event loop: they never end, and
   * are freed with the session.
   */
  close(): void {
    this.#closing.abort(CLOSED);
    for (const queue of [this.#checks, this.#approvals, this.#handlers]) queue?.pause();
  }
}
