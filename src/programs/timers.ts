import TinyQueue from "tinyqueue";

/** Node sets a longer delay to 1 ms. */
const LONGEST_MS = 2 ** 31 - 1;
/** Entries of cleared timers that may stay queued beside as many live ones. */
const CLEARED = 1000;

interface Timer {
  readonly id: number;
  /** On the clock of `performance.now()`. */
  readonly dueMs: number;
}

/**
 * The timers of one program, on the host's clock. One timer of node serves them all: with one for each, a program that
 * sets a hundred thousand a second keeps the host busy with making and collecting them.
 */
export class Timers {
  readonly #onDue: (id: number) => void;
  readonly #live = new Set<number>();
  #queue = newQueue([]);
  #clock: NodeJS.Timeout | undefined;
  #clockDueMs = Infinity;
  /** When the turn began whose timers are being set; undefined between turns. */
  #turnMs: number | undefined;

  /** `onDue` is called once for each timer that fires. */
  constructor(onDue: (id: number) => void) {
    this.#onDue = onDue;
  }

  /**
   * Begins to set the timers of one turn. Setting them all may take longer than the shortest delay. So none fires before
   * `endTurn`, and they fire in the order of their delays.
   */
  beginTurn(): void {
    this.#turnMs = performance.now();
  }

  set({ id, ms }: { readonly id: number; readonly ms: number }): void {
    this.#live.add(id);
    this.#queue.push({ id, dueMs: (this.#turnMs ?? performance.now()) + ms });
  }

  /** Timers that are live, and cleared ones that still take room. */
  get queued(): number {
    return this.#queue.length;
  }

  clear(id: number): void {
    if (!this.#live.delete(id) || this.#queue.length <= 2 * this.#live.size + CLEARED) return;
    this.#queue = newQueue(this.#queue.data.filter((timer) => this.#live.has(timer.id)));
  }

  clearAll(): void {
    this.#live.clear();
    this.#queue = newQueue([]);
    this.#stopClock();
  }

  endTurn(): void {
    this.#turnMs = undefined;
    this.#fireUpTo(performance.now());
  }

  #fireUpTo(nowMs: number): void {
    if (this.#turnMs !== undefined) return;
    for (let next = this.#queue.peek(); next !== undefined && next.dueMs <= nowMs; next = this.#queue.peek()) {
      this.#queue.pop();
      if (this.#live.delete(next.id)) this.#onDue(next.id);
    }
    this.#setClock();
  }

  #setClock(): void {
    const next = this.#queue.peek();
    if (next?.dueMs === this.#clockDueMs) return;
    this.#stopClock();
    if (next === undefined) return;
    this.#clockDueMs = next.dueMs;
    const delayMs = Math.min(Math.max(0, Math.ceil(next.dueMs - performance.now())), LONGEST_MS);
    this.#clock = setTimeout(() => this.#onClock(), delayMs);
  }

  #onClock(): void {
    // Node's clock may be early by a part of a millisecond.
    const nowMs = performance.now();
    const dueMs = this.#clockDueMs - nowMs < 1 ? Math.max(this.#clockDueMs, nowMs) : nowMs;
    this.#stopClock();
    this.#fireUpTo(dueMs);
  }

  #stopClock(): void {
    clearTimeout(this.#clock);
    this.#clock = undefined;
    this.#clockDueMs = Infinity;
  }
}

function newQueue(timers: Timer[]): TinyQueue<Timer> {
  return new TinyQueue(timers, (one, other) => one.dueMs - other.dueMs || one.id - other.id);
}
