import { WaitClock } from "../gate/wait-clock.ts";

/** Interval at which the clocks of a program that has a guest are checked, in milliseconds. */
const TICK_MS = 10;
/** The same for a program without a guest, of which there may be thousands. */
const REST_TICK_MS = 250;
/**
 * A program that has used no processor time for this long is treated as blocked, not as waiting for a core, and its
 * time counts. The value exceeds both the time a runnable process waits for a core and the age of a container's figure.
 */
const STALLED_MS = 600;

export interface ClockLimits {
  readonly runningMs: number;
  readonly wallMs: number;
}

export interface ClockAlarm {
  /** `replays`: replaying the program's turns took longer than `runningMs`. */
  readonly limit: keyof ClockLimits | "replays";
  readonly allowed: number;
  readonly seen: number;
}

/** The readings that the clocks need. */
export interface ClockReadings {
  /** The `processorMs` of the current guest's `ResourceUsage`. */
  readonly processorMs: () => number | undefined;
  /** Whether the program waits for approvals and for nothing else. */
  readonly waitsForApproval: () => boolean;
  /** Whether a record is being appended: what the program has done is not carried out before it is journalled. */
  readonly waitsForStore: () => boolean;
}

/**
 * The clocks of one execution, all kept by the host: running time, time spent replaying turns, and wall time since the
 * start, without the time in which the program waited for nothing but approvals, for another guest and its replay, or for a
 * journal that another process keeps locked. The program runs from the moment the host sends it an event until the host receives the end of that turn.
 * Waiting for tools, timers and approvals does not count. Waiting for a core does not count either, where the system
 * reports the processor time of the guest.
 */
export class Clocks {
  readonly #limits: ClockLimits;
  readonly #onAlarm: (alarm: ClockAlarm) => void;
  readonly #readings: ClockReadings;
  readonly #approvals = new WaitClock();
  readonly #store = new WaitClock();
  readonly #running = new TurnTime();
  readonly #replaying = new TurnTime();
  /** The last replay: how long it took, and the times at its end. */
  #lastReplay = { ms: 0, runningMs: 0, replayingMs: 0 };
  #startedAt: number | undefined;
  /** Time in which the program had something to do, and no guest to do it. */
  #awayMs = 0;
  #awaySince: number | undefined;
  #ticker: NodeJS.Timeout | undefined;

  constructor(limits: ClockLimits, onAlarm: (alarm: ClockAlarm) => void, readings: ClockReadings) {
    this.#limits = limits;
    this.#onAlarm = onAlarm;
    this.#readings = readings;
  }

  /** Whether the program, or a replay of its turns, has the turn. */
  get isRunning(): boolean {
    return this.#running.isOn || this.#replaying.isOn;
  }

  get runningMs(): number {
    return this.#running.ms;
  }

  get wallMs(): number {
    return this.#startedAt === undefined
      ? 0
      : (this.#awaySince ?? performance.now()) - this.#startedAt - this.#awayMs - this.#approvals.ms - this.#store.ms;
  }

  /** Time that all replays of the program have taken. */
  get replayingMs(): number {
    return this.#replaying.ms;
  }

  /** How long a replay of all turns takes, about. Turns of which there was no replay yet take less than when they ran. */
  get replayMs(): number {
    return this.#lastReplay.ms + this.#running.ms - this.#lastReplay.runningMs;
  }

  /** Time in which the program waited for nothing but approvals. */
  get approvalMs(): number {
    return this.#approvals.ms;
  }

  /** The program has a new guest: its first one, or another one, which is not in its state yet. */
  begin(): void {
    this.#startedAt ??= performance.now();
    this.#tickEvery(TICK_MS);
    this.#running.beginReadings();
    this.#replaying.beginReadings();
  }

  /** The program starts to run. */
  run(): void {
    this.#running.begin();
  }

  /** The program has lost its guest, and needs another one. Does nothing before it has started. */
  leave(): void {
    if (this.#startedAt !== undefined) this.#awaySince ??= performance.now();
  }

  /** The guest is in the program's state. */
  arrive(): void {
    if (this.#awaySince !== undefined) this.#awayMs += performance.now() - this.#awaySince;
    this.#awaySince = undefined;
    const { ms: replayingMs } = this.#replaying;
    if (replayingMs === this.#lastReplay.replayingMs) return;
    this.#lastReplay = { ms: replayingMs - this.#lastReplay.replayingMs, runningMs: this.#running.ms, replayingMs };
  }

  /** The program has no guest, and needs none until it has something to do. */
  rest(): void {
    this.#tickEvery(REST_TICK_MS);
  }

  /** The replay of the program's turns starts. */
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

  #tickEvery(ms: number): void {
    clearInterval(this.#ticker);
    this.#ticker = setInterval(() => this.#tick(), ms);
  }

  #tick(): void {
    const { runningMs, wallMs } = this.#limits;
    const { processorMs, waitsForApproval, waitsForStore } = this.#readings;
    const isAway = this.#awaySince !== undefined;
    const isHeld = !isAway && waitsForApproval();
    this.#approvals.look(isHeld);
    this.#store.look(!isAway && !isHeld && waitsForStore());
    const running = this.#running.measure(processorMs);
    const replaying = this.#replaying.measure(processorMs);
    if (running > runningMs) this.#onAlarm({ limit: "runningMs", allowed: runningMs, seen: Math.round(running) });
    else if (this.wallMs > wallMs) this.#onAlarm({ limit: "wallMs", allowed: wallMs, seen: Math.round(this.wallMs) });
    else if (replaying > runningMs)
      this.#onAlarm({ limit: "replays", allowed: runningMs, seen: Math.round(replaying) });
  }
}

/** Time in turns, minus the time known to have been spent waiting for a core. */
class TurnTime {
  #endedTurnsMs = 0;
  #since: number | undefined;
  #endedUnseen = false;
  #waitedMs = 0;
  /** Clock time at the last reading that was taken into account, and the processor time read then. */
  #measuredMs = 0;
  #processorMs: number | undefined;
  #isStalled = false;

  get ms(): number {
    return this.#clockMs - this.#waitedMs;
  }

  get isOn(): boolean {
    return this.#since !== undefined;
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

  /** Discards the last reading: it belongs to the guest before. */
  beginReadings(): void {
    this.#processorMs = undefined;
  }

  /** Reads the processor time and returns the time that counts, in milliseconds. Time without processor use counts only once the program is known to be stalled. */
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
