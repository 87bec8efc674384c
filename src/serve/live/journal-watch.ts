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

export type JournalWatch = ReturnType<typeof journalWatch>;

/**
 * Knows when executions have new records: this process calls `wake`, and the journal tells of records of others, or is
 * asked for them.
 */
export function journalWatch(journal: Journal) {
  const watchers = new Map<ExecutionId, Set<Watcher>>();
  /** Listens to the journal, or asks it, while there are watchers. */
  let listening: Disposable | undefined;
  let isPolling = false;
  let isPolledAgain = false;
  const lane = new Lane("");
  const of = (id: ExecutionId) => watchers.get(id) ?? new Set();
  const add = (watcher: Watcher, ids: Iterable<ExecutionId>) => {
    for (const id of ids) watchers.set(id, of(id).add(watcher));
    listening ??= listen();
  };
  const remove = (watcher: Watcher, ids: Iterable<ExecutionId>) => {
    for (const id of ids) if (of(id).delete(watcher) && of(id).size === 0) watchers.delete(id);
  };
  const wakeOf = (id: ExecutionId) => of(id).forEach(wake);
  const wakeAll = () => {
    for (const id of watchers.keys()) wakeOf(id);
  };
  const rest = () => {
    listening?.[Symbol.dispose]();
    listening = undefined;
  };
  const listen = () =>
    journal.onAppend?.(({ execution, head }) => {
      if (execution === undefined) return void poll();
      for (const watcher of of(execution)) if (watcher.positions.get(execution) !== head) wake(watcher);
    }) ?? every(POLL_MS, () => void poll()).unref();
  const poll = async () => {
    if (isPolling) {
      isPolledAgain = true;
      return;
    }
    isPolling = true;
    isPolledAgain = false;
    try {
      for await (const [id, own] of inSlices(watchers, lane)) {
        const resting = [...own].filter(({ resolve }) => resolve);
        if (resting.length === 0) continue;
        const records = (await findIfKnown(journal, id))?.records ?? Number.POSITIVE_INFINITY;
        for (const watcher of resting) if (records !== watcher.positions.get(id)) wake(watcher);
      }
    } catch {
      // The journal fails. Its watchers read it, and tell their clients.
      wakeAll();
    } finally {
      isPolling = false;
    }
    if (isPolledAgain) await poll();
  };
  return {
    watch(id: ExecutionId): Watching {
      const watcher: Watcher = { isWoken: false, positions: new Map([[id, 0]]), resolve: undefined };
      add(watcher, [id]);
      return {
        wait: (positions, ms) => {
          remove(
            watcher,
            [...watcher.positions.keys()].filter((one) => !positions.has(one)),
          );
          add(watcher, positions.keys());
          watcher.positions = positions;
          return wait(watcher, ms);
        },
        wake: () => wake(watcher),
        [Symbol.dispose]: () => {
          wake(watcher);
          remove(watcher, watcher.positions.keys());
          if (watchers.size === 0) rest();
        },
      };
    },
    /** Wakes the watchers of an execution: it may have new records. */
    wake: wakeOf,
    [Symbol.dispose]: () => {
      rest();
      wakeAll();
    },
  };
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
