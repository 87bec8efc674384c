/** How often the clocks of a running program are looked at. */
const TICK_MS = 10;

export interface ClockLimits {
  readonly runningMs: number;
  readonly wallMs: number;
}

export interface ClockAlarm {
  readonly limit: keyof ClockLimits;
  readonly allowed: number;
  readonly seen: number;
}

/**
 * The clocks of one execution, all the host's: how long the program has the turn now, how long it has had it in
 * all, and how long it is since the start. A program has the turn from the moment an event is handed to it until
 * it hands the turn back, as the host sees it, so a loaded machine counts against it; waiting for tools, timers
 * and approvals does not.
 */
export class Clocks {
  readonly #limits: ClockLimits;
  readonly #onAlarm: (alarm: ClockAlarm) => void;
  readonly #startedAt = performance.now();
  readonly #ticker: NodeJS.Timeout;
  #endedTurnsMs = 0;
  #turnSince: number | undefined;

  constructor(limits: ClockLimits, onAlarm: (alarm: ClockAlarm) => void) {
    this.#limits = limits;
    this.#onAlarm = onAlarm;
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
  }

  get runningMs(): number {
    return this.#endedTurnsMs + (this.#turnSince === undefined ? 0 : performance.now() - this.#turnSince);
  }

  get wallMs(): number {
    return performance.now() - this.#startedAt;
  }

  /** The program has the turn. */
  run(): void {
    this.#turnSince ??= performance.now();
  }

  /** The program waits. */
  wait(): void {
    this.#endedTurnsMs = this.runningMs;
    this.#turnSince = undefined;
  }

  stop(): void {
    this.wait();
    clearInterval(this.#ticker);
  }

  #tick(): void {
    const { runningMs, wallMs } = this.#limits;
    if (this.runningMs > runningMs)
      this.#onAlarm({ limit: "runningMs", allowed: runningMs, seen: Math.round(this.runningMs) });
    else if (this.wallMs > wallMs) this.#onAlarm({ limit: "wallMs", allowed: wallMs, seen: Math.round(this.wallMs) });
  }
}
