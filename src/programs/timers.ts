/** The timers of one program, on the host's clock. */
export class Timers {
  readonly #armed = new Map<number, NodeJS.Timeout>();
  readonly #onDue: (id: number) => void;

  /** `onDue` is called once for each timer that fires. */
  constructor(onDue: (id: number) => void) {
    this.#onDue = onDue;
  }

  /** A batch for the timers that the guest set in one turn. */
  batch(): TimerBatch {
    return new TimerBatch(this);
  }

  arm(id: number, ms: number, onTime: () => void): void {
    this.#armed.set(id, setTimeout(onTime, ms));
  }

  clear(id: number): void {
    clearTimeout(this.#armed.get(id));
    this.#armed.delete(id);
  }

  clearAll(): void {
    for (const timer of this.#armed.values()) clearTimeout(timer);
    this.#armed.clear();
  }

  fire(id: number): void {
    if (!this.#armed.has(id)) return;
    this.clear(id);
    this.#onDue(id);
  }
}

/**
 * The timers of one turn. Arming them all may take longer than the shortest delay. So none fires before all are armed,
 * and they fire in order of their delays.
 */
export class TimerBatch {
  readonly #timers: Timers;
  /** Sorted when all are armed: the next timer to fire is the last entry. */
  readonly #waiting: { readonly id: number; readonly ms: number }[] = [];
  #areArmed = false;
  /** The longest delay among the timers that were due before all were armed. */
  #overdueMs = -1;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  arm({ id, ms }: { readonly id: number; readonly ms: number }): void {
    this.#waiting.push({ id, ms });
    this.#timers.arm(id, ms, () => this.#fireUpTo(ms));
  }

  /** Ends the batch, and fires the timers that are already due. */
  end(): void {
    this.#waiting.sort((one, other) => other.ms - one.ms || other.id - one.id);
    this.#areArmed = true;
    this.#fireUpTo(this.#overdueMs);
  }

  #fireUpTo(ms: number): void {
    this.#overdueMs = Math.max(this.#overdueMs, ms);
    if (!this.#areArmed) return;
    for (let next = this.#waiting.at(-1); next !== undefined && next.ms <= ms; next = this.#waiting.at(-1)) {
      this.#waiting.pop();
      this.#timers.fire(next.id);
    }
  }
}
