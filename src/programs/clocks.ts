/** How often the clocks of a running program are looked at. */
const TICK_MS = 10;
/**
 * A program that has used no processor time for so long does not wait for a core, but stands still, and the clock
 * counts. Longer than a core is kept from a process that wants one, and than a container's figure is old.
 */
const STALLED_MS = 600;

export interface ClockLimits {
  readonly runningMs: number;
  readonly wallMs: number;
}

export interface ClockAlarm {
  /** `replays`: that its turns were replayed has taken as long as the program may run. */
  readonly limit: keyof ClockLimits | "replays";
  readonly allowed: number;
  readonly seen: number;
}

/**
 * The clocks of one execution, all the host's: how long the program has the turn now, how long it has had it in
 * all, how long its turns were replayed, and how long it is since the start. A program has the turn from the moment an
 * event is handed to it until it hands the turn back, as the host sees it; waiting for tools, timers and approvals does
 * not count, nor does waiting for a core, where the system tells the processor time that the guest has used.
 */
export class Clocks {
  readonly #limits: ClockLimits;
  readonly #onAlarm: (alarm: ClockAlarm) => void;
  readonly #processorMs: () => number | undefined;
  readonly #running = new TurnTime();
  readonly #replaying = new TurnTime();
  #startedAt: number | undefined;
  #ticker: NodeJS.Timeout | undefined;

  /** `processorMs` tells what `ResourceUsage` says of the guest that has the turn. */
  constructor(limits: ClockLimits, onAlarm: (alarm: ClockAlarm) => void, processorMs: () => number | undefined) {
    this.#limits = limits;
    this.#onAlarm = onAlarm;
    this.#processorMs = processorMs;
  }

  get runningMs(): number {
    return this.#running.ms;
  }

  get wallMs(): number {
    return this.#startedAt === undefined ? 0 : performance.now() - this.#startedAt;
  }

  /** The program has a guest, another one than before if it had one. */
  begin(): void {
    this.#startedAt ??= performance.now();
    this.#ticker ??= setInterval(() => this.#tick(), TICK_MS);
    this.#running.beginReadings();
    this.#replaying.beginReadings();
  }

  /** The program has the turn. */
  run(): void {
    this.#running.begin();
  }

  /** The program's turns are replayed. */
  replay(): void {
    this.#replaying.begin();
  }

  /** The program waits. */
  wait(): void {
    this.#running.end();
    this.#replaying.end();
  }

  /** The execution is over. */
  stop(): void {
    this.wait();
    clearInterval(this.#ticker);
  }

  #tick(): void {
    const { runningMs, wallMs } = this.#limits;
    const running = this.#running.measure(this.#processorMs);
    const replaying = this.#replaying.measure(this.#processorMs);
    if (running > runningMs) this.#onAlarm({ limit: "runningMs", allowed: runningMs, seen: Math.round(running) });
    else if (this.wallMs > wallMs) this.#onAlarm({ limit: "wallMs", allowed: wallMs, seen: Math.round(this.wallMs) });
    else if (replaying > runningMs)
      this.#onAlarm({ limit: "replays", allowed: runningMs, seen: Math.round(replaying) });
  }
}

/** Time with the turn, less what is known to have been spent waiting for a core. */
class TurnTime {
  #endedTurnsMs = 0;
  #since: number | undefined;
  #endedUnseen = false;
  #waitedMs = 0;
  /** Time by the clock when processor time was last read and had grown, and what was read. */
  #measuredMs = 0;
  #processorMs: number | undefined;
  #isStalled = false;

  get ms(): number {
    return this.#clockMs - this.#waitedMs;
  }

  begin(): void {
    this.#since ??= performance.now();
  }

  end(): void {
    if (this.#since === undefined) return;
    this.#endedTurnsMs = this.#clockMs;
    this.#since = undefined;
    this.#endedUnseen = true;
  }

  /** What was read before is of another guest. */
  beginReadings(): void {
    this.#processorMs = undefined;
  }

  /** Looks at the processor time, and returns what counts, in milliseconds. What was not used since the last look counts as soon as it is known not to have been spent waiting for a core. */
  measure(readProcessorMs: () => number | undefined): number {
    if (this.#since !== undefined || this.#endedUnseen) this.#look(readProcessorMs());
    this.#endedUnseen = false;
    return this.#measuredMs - this.#waitedMs;
  }

  #look(processorMs: number | undefined): void {
    const clockMs = this.#clockMs;
    const passedMs = clockMs - this.#measuredMs;
    if (processorMs !== undefined && this.#processorMs !== undefined) {
      const usedMs = processorMs - this.#processorMs;
      if (usedMs > 0) this.#waitedMs += Math.max(0, passedMs - usedMs);
      else if (!this.#isStalled && passedMs <= STALLED_MS) return;
      this.#isStalled = usedMs <= 0;
    }
    this.#measuredMs = clockMs;
    this.#processorMs = processorMs;
  }

  get #clockMs(): number {
    return this.#endedTurnsMs + (this.#since === undefined ? 0 : performance.now() - this.#since);
  }
}
