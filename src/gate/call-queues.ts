import PQueue from "p-queue";

/**
 * Queues of the calls of one session. Calls that may need approval have their own queues for the input check and for
 * the approval, so that they do not delay calls that need no approval.
 */
export class CallQueues {
  readonly #concurrency: number;
  readonly #handlers: PQueue;
  /** Created on first use: most sessions have no call that may need approval. */
  #checks: PQueue | undefined;
  #approvals: PQueue | undefined;
  /** Removes waiting calls from the queues of tools, which outlive the session. */
  readonly #closing = new AbortController();

  constructor(callsAtOnce: number) {
    this.#concurrency = callsAtOnce;
    this.#handlers = new PQueue({ concurrency: callsAtOnce });
  }

  /** Queues the check whether a call needs approval. */
  check<Value>(task: () => Promise<Value>): Promise<Value | undefined> {
    this.#checks ??= new PQueue({ concurrency: this.#concurrency });
    return this.#unlessDropped(this.#checks.add(task));
  }

  /** Queues a request for approval. */
  approve<Value>(task: () => Promise<Value>): Promise<Value | undefined> {
    this.#approvals ??= new PQueue({ concurrency: this.#concurrency });
    return this.#unlessDropped(this.#approvals.add(task));
  }

  /** Queues a handler. `task` gets a signal that is aborted when the queues close; resolves with undefined if that ended it. */
  run<Value>(task: (closing: AbortSignal) => Promise<Value>): Promise<Value | undefined> {
    return this.#unlessDropped(this.#handlers.add(() => task(this.#closing.signal)));
  }

  /**
   * No waiting task starts any more. The queues are paused and not cleared: clearing would reject thousands of waiting
   * tasks in one turn of the event loop. They are freed with the session.
   */
  close(): void {
    this.#closing.abort();
    for (const queue of [this.#checks, this.#approvals, this.#handlers]) queue?.pause();
  }

  /** A tool's queue rejects with an `AbortError` when the session closes, also for a call that has its answer. */
  async #unlessDropped<Value>(task: Promise<Value>): Promise<Value | undefined> {
    try {
      return await task;
    } catch (error) {
      if (this.#closing.signal.aborted && error instanceof Error && error.name === "AbortError") return undefined;
      throw error;
    }
  }
}
