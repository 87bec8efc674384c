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
 * thousand timers a second would otherwise keep the host busy creating and collecting node's timers.
 */
export class Timers {
  readonly #open: ReadonlyMap<number, unknown>;
  readonly #onDue: (id: number) => void;
  #queue = newQueue([]);
  #clock: Alarm | undefined;
  #clockDueMs = Infinity;
  /** When the turn began whose timers are being set; undefined between turns. */
  #turnMs: number | undefined;

  /**
   * `open` has the ids of the timers that were set, and have neither fired in the guest nor been cleared. `onDue` is called
   * once for each timer that is due and open.
   */
  constructor(open: ReadonlyMap<number, unknown>, onDue: (id: number) => void) {
    this.#open = open;
    this.#onDue = onDue;
  }

  /**
   * Begins to set the timers of one turn. Setting them all may take longer than the shortest delay. So none fires before
   * `endTurn`, and they fire in the order of their delays.
   */
  beginTurn(): void {
    this.#turnMs = monotonic();
  }

  set({ id, ms }: { readonly id: number; readonly ms: number }): void {
    this.#queue.push({ id, dueMs: (this.#turnMs ?? monotonic()) + ms });
  }

  /**
   * Sets timers that an earlier driver has set at `setAt`, in milliseconds since 1970, with what is left of their time. By the
   * clock of another machine that may be a moment to come: the whole time is left then.
   */
  continue(timers: Iterable<OpenTimer>): void {
    for (const { id, ms, setAt } of timers) this.set({ id, ms: Math.min(ms, Math.max(0, setAt + ms - now())) });
  }

  /** Timers that have not fired, with cleared ones that still take room. */
  get queued(): number {
    return this.#queue.length;
  }

  noteCleared(): void {
    if (this.#queue.length <= 2 * this.#open.size + CLEARED) return;
    this.#queue = newQueue(this.#queue.data.filter(({ id }) => this.#open.has(id)));
  }

  clearAll(): void {
    this.#queue = newQueue([]);
    this.#stopClock();
  }

  endTurn(): void {
    this.#turnMs = undefined;
    this.#fireUpTo(monotonic());
  }

  #fireUpTo(nowMs: number): void {
    if (this.#turnMs !== undefined) return;
    for (let next = this.#queue.peek(); next !== undefined && next.dueMs <= nowMs; next = this.#queue.peek()) {
      this.#queue.pop();
      if (this.#open.has(next.id)) this.#onDue(next.id);
    }
    this.#setClock();
  }

  #setClock(): void {
    const next = this.#queue.peek();
    if (next?.dueMs === this.#clockDueMs) return;
    this.#stopClock();
    if (next === undefined) return;
    this.#clockDueMs = next.dueMs;
    this.#clock = after(next.dueMs - monotonic(), () => this.#onClock());
  }

  #onClock(): void {
    // Node's clock may be early by a part of a millisecond.
    const nowMs = monotonic();
    const dueMs = this.#clockDueMs - nowMs < 1 ? Math.max(this.#clockDueMs, nowMs) : nowMs;
    this.#stopClock();
    this.#fireUpTo(dueMs);
  }

  #stopClock(): void {
    cancel(this.#clock);
    this.#clock = undefined;
    this.#clockDueMs = Infinity;
  }
}

function newQueue(timers: Timer[]): TinyQueue<Timer> {
  return new TinyQueue(timers, (one, other) => one.dueMs - other.dueMs || one.id - other.id);
}
