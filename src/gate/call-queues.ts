import PQueue from "p-queue";

/**
 * Where the calls of one session wait for their turn. Calls that may need approval wait apart from the others, while
 * their inputs are checked and while an approver is asked, so that they hold up no call that needs none.
 */
export class CallQueues {
  readonly #concurrency: number;
  readonly #handlers: PQueue;
  /** Most sessions have none. */
  #checks: PQueue | undefined;
  #approvals: PQueue | undefined;
  /** For the queues of tools, which outlive a session and are not to keep what waits there. */
  readonly #closing = new AbortController();

  constructor(callsAtOnce: number) {
    this.#concurrency = callsAtOnce;
    this.#handlers = new PQueue({ concurrency: callsAtOnce });
  }

  /** Finds out whether a call needs approval. */
  check<Value>(task: () => Promise<Value>): Promise<Value> {
    this.#checks ??= new PQueue({ concurrency: this.#concurrency });
    return this.#checks.add(task);
  }

  /** Asks for an approval. */
  approve<Value>(task: () => Promise<Value>): Promise<Value> {
    this.#approvals ??= new PQueue({ concurrency: this.#concurrency });
    return this.#approvals.add(task);
  }

  /** Runs a call. `task` is handed a signal that is aborted when the queues close; undefined where it ends by that. */
  async run<Value>(task: (closing: AbortSignal) => Promise<Value>): Promise<Value | undefined> {
    const { signal } = this.#closing;
    try {
      return await this.#handlers.add(() => task(signal));
    } catch (error) {
      // A call that had its answer when the session closed: its tool's queue knows only that it was aborted.
      if (signal.aborted && error === signal.reason) return undefined;
      throw error;
    }
  }

  /** What waits is forgotten. */
  close(): void {
    for (const queue of [this.#checks, this.#approvals, this.#handlers]) queue?.clear();
    this.#closing.abort();
  }
}
