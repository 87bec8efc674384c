import { after, every, type ExecutionId, inSlices, Lane } from "../../base/index.ts";
import { findIfKnown } from "../../journal/reading/index.ts";
import type { Journal } from "../../journal/journal.ts";

/** Interval of asking a journal that tells of no appends for records of other processes, in milliseconds. */
const POLL_MS = 500;

/** Waits for records of one execution, and of others that it reads beside it. */
export interface Watching extends Disposable {
  /**
   * Resolves when one of these executions may have records from its position on, or after `ms`; the position of one that
   * does not exist yet is `Infinity`. Records since the last wait count too, so that none is missed between reading the
   * journal and waiting.
   */
  readonly wait: (positions: ReadonlyMap<ExecutionId, number>, ms: number) => Promise<void>;
  readonly wake: () => void;
}

interface Watcher {
  isWoken: boolean;
  positions: ReadonlyMap<ExecutionId, number>;
  resolve: (() => void) | undefined;
}

/**
 * Knows when executions have new records: this process calls `wake`, and the journal tells of records of others, or is
 * asked for them.
 */
export class JournalWatch implements Disposable {
  readonly #journal: Journal;
  readonly #watchers = new Map<ExecutionId, Set<Watcher>>();
  /** Listens to the journal, or asks it, while there are watchers. */
  #listening: Disposable | undefined;
  #isPolling = false;
  #isPolledAgain = false;
  readonly #lane = new Lane("");

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  watch(id: ExecutionId): Watching {
    const watcher: Watcher = { isWoken: false, positions: new Map([[id, 0]]), resolve: undefined };
    this.#add(watcher, [id]);
    return {
      wait: (positions, ms) => {
        this.#remove(
          watcher,
          [...watcher.positions.keys()].filter((one) => !positions.has(one)),
        );
        this.#add(watcher, positions.keys());
        watcher.positions = positions;
        return wait(watcher, ms);
      },
      wake: () => wake(watcher),
      [Symbol.dispose]: () => {
        wake(watcher);
        this.#remove(watcher, watcher.positions.keys());
        if (this.#watchers.size === 0) this.#rest();
      },
    };
  }

  #add(watcher: Watcher, ids: Iterable<ExecutionId>): void {
    for (const id of ids) this.#watchers.set(id, (this.#watchers.get(id) ?? new Set()).add(watcher));
    this.#listening ??= this.#listen();
  }

  #remove(watcher: Watcher, ids: Iterable<ExecutionId>): void {
    for (const id of ids) {
      const watchers = this.#watchers.get(id);
      watchers?.delete(watcher);
      if (watchers?.size === 0) this.#watchers.delete(id);
    }
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

  #listen(): Disposable {
    const told = this.#journal.onAppend?.(({ execution, head }) => this.#told(execution, head));
    if (told) return told;
    return every(POLL_MS, () => void this.#poll()).unref();
  }

  #told(execution: ExecutionId | undefined, head: number | undefined): void {
    if (execution === undefined) return void this.#poll();
    for (const watcher of this.#watchers.get(execution) ?? [])
      if (watcher.positions.get(execution) !== head) wake(watcher);
  }

  #rest(): void {
    this.#listening?.[Symbol.dispose]();
    this.#listening = undefined;
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) {
      this.#isPolledAgain = true;
      return;
    }
    this.#isPolling = true;
    this.#isPolledAgain = false;
    try {
      for await (const [id, watchers] of inSlices(this.#watchers, this.#lane)) {
        const resting = [...watchers].filter(({ resolve }) => resolve);
        if (resting.length === 0) continue;
        const records = (await findIfKnown(this.#journal, id))?.records ?? Number.POSITIVE_INFINITY;
        for (const watcher of resting) if (records !== watcher.positions.get(id)) wake(watcher);
      }
    } catch {
      // The journal fails. Its watchers read it, and tell their clients.
      this.wakeAll();
    } finally {
      this.#isPolling = false;
    }
    if (this.#isPolledAgain) await this.#poll();
  }
}

function wake(watcher: Watcher): void {
  watcher.isWoken = true;
  watcher.resolve?.();
}

async function wait(watcher: Watcher, ms: number): Promise<void> {
  if (!watcher.isWoken) {
    const { promise, resolve } = Promise.withResolvers<void>();
    watcher.resolve = resolve;
    using _ = after(ms, resolve);
    await promise;
    watcher.resolve = undefined;
  }
  watcher.isWoken = false;
}
