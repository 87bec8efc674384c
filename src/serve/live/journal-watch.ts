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
  const watchers: Watchers = new Map();
  /** Listens to the journal, or asks it, while there are watchers. */
  let listening: Disposable | undefined;
  const poll = oneAtATime(() => askFor(journal, watchers));
  const listen = () =>
    journal.onAppend?.(({ execution, head }) => {
      if (execution === undefined) return void poll();
      for (const watcher of watchers.get(execution) ?? []) if (watcher.positions.get(execution) !== head) wake(watcher);
    }) ?? every(POLL_MS, () => void poll()).unref();
  const rest = () => {
    listening?.[Symbol.dispose]();
    listening = undefined;
  };
  return {
    watch(id: ExecutionId): Watching {
      const watcher: Watcher = { isWoken: false, positions: new Map(), resolve: undefined };
      const move = (positions: Watcher["positions"]) => {
        for (const one of watcher.positions.keys()) if (!positions.has(one)) remove(watchers, watcher, one);
        for (const one of positions.keys()) watchers.set(one, (watchers.get(one) ?? new Set()).add(watcher));
        watcher.positions = positions;
        listening ??= listen();
      };
      move(new Map([[id, 0]]));
      return {
        wait: (positions, ms) => {
          move(positions);
          return wait(watcher, ms);
        },
        wake: () => wake(watcher),
        [Symbol.dispose]: () => {
          wake(watcher);
          for (const one of watcher.positions.keys()) remove(watchers, watcher, one);
          if (watchers.size === 0) rest();
        },
      };
    },
    /** Wakes the watchers of an execution: it may have new records. */
    wake: (id: ExecutionId) => watchers.get(id)?.forEach(wake),
    [Symbol.dispose]: () => {
      rest();
      wakeAll(watchers);
    },
  };
}

type Watchers = Map<ExecutionId, Set<Watcher>>;

function remove(watchers: Watchers, watcher: Watcher, id: ExecutionId): void {
  const own = watchers.get(id);
  own?.delete(watcher);
  if (own?.size === 0) watchers.delete(id);
}

function wakeAll(watchers: Watchers): void {
  for (const own of watchers.values()) own.forEach(wake);
}

/** Asks the journal for records of the executions whose watchers rest. */
async function askFor(journal: Journal, watchers: Watchers): Promise<void> {
  try {
    for await (const [id, own] of inSlices(watchers, new Lane(""))) {
      const resting = [...own].filter(({ resolve }) => resolve);
      if (resting.length === 0) continue;
      const records = (await findIfKnown(journal, id))?.records ?? Infinity;
      for (const watcher of resting) if (records !== watcher.positions.get(id)) wake(watcher);
    }
  } catch {
    // The journal fails. Its watchers read it, and tell their clients.
    wakeAll(watchers);
  }
}

/** Work that is not begun while it is under way, but once more after that. It never rejects. */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let isRunning = false;
  let isAsked = false;
  return async () => {
    isAsked = true;
    if (isRunning) return;
    isRunning = true;
    while (isAsked) {
      isAsked = false;
      await work();
    }
    isRunning = false;
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
