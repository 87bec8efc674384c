import type { ExecutionId } from "../base/index.ts";
import { newTurns } from "./turns.ts";

interface Run {
  readonly cancel: AbortController;
  readonly ended: Promise<unknown>;
}

/** The executions that this process drives for clients: begun by them, continued after decisions, and taken up. */
export class ServerRuns {
  readonly #runs = new Map<ExecutionId, Set<Run>>();
  /** The turn of a message ends once it is in the journal. */
  readonly #saying = newTurns();

  has(id: ExecutionId): boolean {
    return this.#runs.has(id);
  }

  /** Counts an execution as run here until `end`. The signal cancels it. */
  begin(id: ExecutionId): { readonly signal: AbortSignal; readonly end: () => void } {
    const cancel = new AbortController();
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const run: Run = { cancel, ended };
    const runs = this.#runs.get(id) ?? new Set();
    this.#runs.set(id, runs.add(run));
    const end = () => {
      runs.delete(run);
      if (runs.size === 0) this.#runs.delete(id);
      resolve();
    };
    return { signal: cancel.signal, end };
  }

  /** Runs an execution until it ends or waits. */
  async run<Value>(id: ExecutionId, work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    const { signal, end } = this.begin(id);
    try {
      return await work(signal);
    } finally {
      end();
    }
  }

  /**
   * Says something in a conversation once what was to be said before it was said, or has failed: otherwise two requests
   * would take the conversation from each other. `work` calls its second argument once the journal has the message.
   */
  say<Value>(id: ExecutionId, work: (signal: AbortSignal, onSaid: () => void) => Promise<Value>): Promise<Value> {
    return this.run(id, async (signal) => {
      const onSaid = await this.#saying.take(id);
      try {
        return await work(signal, onSaid);
      } finally {
        onSaid();
      }
    });
  }

  /** Ends what runs here of an execution with a reason, and resolves when it has ended. */
  async end(id: ExecutionId, reason: Error): Promise<void> {
    for (const { cancel } of this.#runs.get(id) ?? []) cancel.abort(reason);
    await this.settled(id);
  }

  /** Resolves when what runs here of an execution has ended. */
  async settled(id: ExecutionId): Promise<void> {
    await Promise.allSettled([...(this.#runs.get(id) ?? [])].map(({ ended }) => ended));
  }
}
