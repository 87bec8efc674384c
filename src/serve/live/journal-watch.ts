import type { ExecutionId } from "../../journal/execution-id.ts";
import { findIfKnown } from "../../journal/find-if-known.ts";
import type { Journal } from "../../journal/journal.ts";
import { inSlices } from "../../values/in-slices.ts";
import { Lane } from "../../values/slice-scheduler.ts";

/** Interval of asking the journal for records of other processes, in milliseconds. */
const POLL_MS = 500;

/** Waits for records of one execution. */
export interface Watching extends Disposable {
  /**
   * Resolves when there may be records from `position` on, or after `ms`. Records since the last wait count too, so
   * that none is missed between reading the journal and waiting.
   */
  readonly wait: (position: number, ms: number) => Promise<void>;
}

interface Watcher {
  isWoken: boolean;
  position: number;
  resolve: (() => void) | undefined;
}

/**
 * Knows when executions have new records: this process calls `wake`, and the journal is asked for records of others.
 */
export class JournalWatch implements Disposable {
  readonly #journal: Journal;
  readonly #watchers = new Map<ExecutionId, Set<Watcher>>();
  #polling: NodeJS.Timeout | undefined;
  #isPolling = false;
  readonly #lane = new Lane("");

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  watch(id: ExecutionId): Watching {
    const watcher: Watcher = { isWoken: false, position: 0, resolve: undefined };
    const watchers = this.#watchers.get(id) ?? new Set();
    this.#watchers.set(id, watchers.add(watcher));
    this.#polling ??= setInterval(() => void this.#poll(), POLL_MS).unref();
    return {
      wait: (position, ms) => wait(watcher, position, ms),
      [Symbol.dispose]: () => {
        wake(watcher);
        watchers.delete(watcher);
        if (watchers.size === 0 && this.#watchers.get(id) === watchers) this.#watchers.delete(id);
        if (this.#watchers.size === 0) this.#rest();
      },
    };
  }

  /** Wakes the watchers of an execution: it may have new records. */
  wake(id: ExecutionId): void {
    for (const watcher of this.#watchers.get(id) ?? []) wake(watcher);
  }

  wakeAll(): void {
    for (const id of this.#watchers.keys()) this.wake(id);
  }

  [Symbol.dispose](): void {
    this.#rest();
    this.wakeAll();
  }

  #rest(): void {
    clearInterval(this.#polling);
    this.#polling = undefined;
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    try {
      for await (const [id, watchers] of inSlices(this.#watchers, this.#lane)) {
        const resting = [...watchers].filter(({ resolve }) => resolve);
        if (resting.length === 0) continue;
        const records = (await findIfKnown(this.#journal, id))?.records ?? Number.POSITIVE_INFINITY;
        for (const watcher of resting) if (records > watcher.position) wake(watcher);
      }
    } catch {
      // The journal fails. Its watchers read it, and tell their clients.
      this.wakeAll();
    } finally {
      this.#isPolling = false;
    }
  }
}

function wake(watcher: Watcher): void {
  watcher.isWoken = true;
  watcher.resolve?.();
}

async function wait(watcher: Watcher, position: number, ms: number): Promise<void> {
  watcher.position = position;
  if (!watcher.isWoken) {
    const { promise, resolve } = Promise.withResolvers<void>();
    watcher.resolve = resolve;
    const timer = setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
    watcher.resolve = undefined;
  }
  watcher.isWoken = false;
}
