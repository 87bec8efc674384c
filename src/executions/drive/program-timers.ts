import TinyQueue from "tinyqueue";
import { after, cancel, monotonic, now, type Timer as Alarm } from "../../base/index.ts";
import type { OpenTimer } from "../from-journal/execution-state.ts";

/** Entries of cleared timers that may stay queued beside as many live ones. */
const CLEARED = 1000;

interface Timer {
  readonly id: number;
  /** On the clock of `monotonic()`. */
  readonly dueMs: number;
}

/**
 * The timers of one program, on the host's clock. A single timer of node serves them all: a program that sets a hundred
 * thousand timers a second would otherwise keep the host busy creating and collecting node's timers. `open` has the ids of
 * the timers that were set, and have neither fired in the guest nor been cleared. `onDue` is called once for each timer
 * that is due and open.
 */
export function programTimers(open: ReadonlyMap<number, unknown>, onDue: (id: number) => void) {
  let queue = newQueue([]);
  let clock: Alarm | undefined;
  let clockDueMs = Infinity;
  /** When the turn began whose timers are being set; undefined between turns. */
  let turnMs: number | undefined;

  function set({ id, ms }: { readonly id: number; readonly ms: number }): void {
    queue.push({ id, dueMs: (turnMs ?? monotonic()) + ms });
  }

  function fireUpTo(nowMs: number): void {
    if (turnMs !== undefined) return;
    for (let next = queue.peek(); next !== undefined && next.dueMs <= nowMs; next = queue.peek()) {
      queue.pop();
      if (open.has(next.id)) onDue(next.id);
    }
    setClock();
  }

  function setClock(): void {
    const next = queue.peek();
    if (next?.dueMs === clockDueMs) return;
    stopClock();
    if (next === undefined) return;
    clockDueMs = next.dueMs;
    clock = after(next.dueMs - monotonic(), onClock);
  }

  function onClock(): void {
    // Node's clock may be early by a part of a millisecond.
    const nowMs = monotonic();
    const dueMs = clockDueMs - nowMs < 1 ? Math.max(clockDueMs, nowMs) : nowMs;
    stopClock();
    fireUpTo(dueMs);
  }

  function stopClock(): void {
    cancel(clock);
    clock = undefined;
    clockDueMs = Infinity;
  }

  return {
    /**
     * Begins to set the timers of one turn. Setting them all may take longer than the shortest delay. So none fires before
     * `endTurn`, and they fire in the order of their delays.
     */
    beginTurn(): void {
      turnMs = monotonic();
    },

    set,

    /**
     * Sets timers that an earlier driver has set at `setAt`, in milliseconds since 1970, with what is left of their time. By the
     * clock of another machine that may be a moment to come: the whole time is left then.
     */
    continue(timers: Iterable<OpenTimer>): void {
      for (const { id, ms, setAt } of timers) set({ id, ms: Math.min(ms, Math.max(0, setAt + ms - now())) });
    },

    /** Timers that have not fired, with cleared ones that still take room. */
    get queued(): number {
      return queue.length;
    },

    noteCleared(): void {
      if (queue.length <= 2 * open.size + CLEARED) return;
      queue = newQueue(queue.data.filter(({ id }) => open.has(id)));
    },

    clearAll(): void {
      queue = newQueue([]);
      stopClock();
    },

    endTurn(): void {
      turnMs = undefined;
      fireUpTo(monotonic());
    },
  };
}

export type Timers = ReturnType<typeof programTimers>;

function newQueue(timers: Timer[]): TinyQueue<Timer> {
  return new TinyQueue(timers, (one, other) => one.dueMs - other.dueMs || one.id - other.id);
}
