import { cancel, every, monotonic, type Timer, WaitedTime } from "../../base/index.ts";

/** Interval at which the clocks of a program that has a guest are checked, in milliseconds. */
const TICK_MS = 10;
/** Interval for a program without a guest, in milliseconds. There may be thousands of such programs. */
const REST_TICK_MS = 250;
/**
 * A program that has used no processor time for this long is treated as blocked, not as waiting for a core, and its
 * time counts. The value exceeds both the time a runnable process waits for a core and the age of a container's figure.
 */
const STALLED_MS = 600;
/** With so much time between two looks, in milliseconds, the host was away, and what the program sent meanwhile is not read. */
const LATE_MS = 100;

export interface ClockLimits {
  readonly cpuMs: number;
  readonly wallMs: number;
}

export interface ClockAlarm {
  /** `replays`: replaying the program's turns took longer than `cpuMs`. */
  readonly limit: keyof ClockLimits | "replays";
  readonly allowed: number;
  readonly seen: number;
}

export interface PastTimes extends ClockLimits {
  readonly approvalMs: number;
}

export interface ClockReadings {
  readonly processorMs: () => number | undefined;
  /** Whether the program waits for approvals and for nothing else. */
  readonly waitsForApproval: () => boolean;
  /** Whether a record is being appended: what the program has done is not carried out before it is journalled. */
  readonly waitsForStore: () => boolean;
  /** Whether the host has taken all that the guest has sent. Until then a guest that uses no processor time waits for the host. */
  readonly isListening: () => boolean;
}

/**
 * The clocks of one execution, all kept by the host: running time, time spent replaying turns, and wall time since the
 * start. Wall time stands still while the program waits for nothing but approvals, for another guest and its replay, or
 * for a journal that another process keeps locked. The program runs from the moment the host sends it an event until
 * the host receives the end of that turn. Waiting for tools, timers and approvals does not count. Waiting for a core, or
 * for the host to read what was sent, does not count either if the system reports the processor time of the guest.
 */
export class Clocks {
  readonly #before: PastTimes;
  readonly #limits: ClockLimits;
  readonly #onAlarm: (alarm: ClockAlarm) => void;
  readonly #readings: ClockReadings;
  readonly #approvals = new WaitedTime();
  readonly #store = new WaitedTime();
  readonly #running = new TurnTime();
  readonly #replaying = new TurnTime();
  /** The last replay: how long it took, and the times at its end. */
  #lastReplay = { ms: 0, cpuMs: 0, replayingMs: 0 };
  readonly #wall = stopwatch();
  /** Time in which the program had something to do, and no guest to do it. */
  readonly #away = stopwatch();
  #ticker: Timer | undefined;

  /** `before`: the times of earlier drivers of the same execution, which count in the limits. */
  constructor(
    limits: ClockLimits,
    onAlarm: (alarm: ClockAlarm) => void,
    readings: ClockReadings,
    before: PastTimes = { cpuMs: 0, wallMs: 0, approvalMs: 0 },
  ) {
    this.#before = before;
    this.#limits = limits;
    this.#onAlarm = onAlarm;
    this.#readings = readings;
  }

  get isRunning(): boolean {
    return this.#running.isOn || this.#replaying.isOn;
  }

  get cpuMs(): number {
    return this.#before.cpuMs + this.#running.ms;
  }

  get wallMs(): number {
    return this.#before.wallMs + this.#wall.ms - this.#away.ms - this.#approvals.ms - this.#store.ms;
  }

  get replayingMs(): number {
    return this.#replaying.ms;
  }

  /** At most the time of a replay of all turns: those never replayed count as long as they ran, which is longer. */
  get replayMs(): number {
    return this.#lastReplay.ms + this.#running.ms - this.#lastReplay.cpuMs;
  }

  get approvalMs(): number {
    return this.#before.approvalMs + this.#approvals.ms;
  }

  /** The program has a new guest, which is not in the program's state yet unless it is the first. */
  begin(): void {
    this.#wall.start();
    this.#tickEvery(TICK_MS);
    this.#running.beginReadings();
    this.#replaying.beginReadings();
  }

  run(): void {
    this.#running.begin();
  }

  /** The program has lost its guest, and needs another one. Does nothing before it has started. */
  leave(): void {
    if (this.#wall.isOn) this.#away.start();
  }

  arrive(): void {
    this.#away.stop();
    const { ms: replayingMs } = this.#replaying;
    if (replayingMs === this.#lastReplay.replayingMs) return;
    this.#lastReplay = { ms: replayingMs - this.#lastReplay.replayingMs, cpuMs: this.#running.ms, replayingMs };
  }

  /** The program has no guest, and needs none until it has something to do. */
  rest(): void {
    this.#tickEvery(REST_TICK_MS);
  }

  replay(): void {
    this.#replaying.begin();
  }

  wait(): void {
    this.#running.end();
    this.#replaying.end();
  }

  stop(): void {
    this.wait();
    cancel(this.#ticker);
  }

  #tickEvery(ms: number): void {
    cancel(this.#ticker);
    this.#ticker = every(ms, () => this.#tick());
  }

  #tick(): void {
    const { cpuMs, wallMs } = this.#limits;
    const { waitsForApproval, waitsForStore } = this.#readings;
    const isAway = this.#away.isOn;
    const isHeld = !isAway && waitsForApproval();
    this.#approvals.look(isHeld);
    this.#store.look(!isAway && !isHeld && waitsForStore());
    const running = this.#before.cpuMs + this.#running.measure(this.#readings);
    const replaying = this.#replaying.measure(this.#readings);
    if (running > cpuMs) this.#onAlarm({ limit: "cpuMs", allowed: cpuMs, seen: Math.round(running) });
    else if (this.wallMs > wallMs) this.#onAlarm({ limit: "wallMs", allowed: wallMs, seen: Math.round(this.wallMs) });
    else if (replaying > cpuMs) this.#onAlarm({ limit: "replays", allowed: cpuMs, seen: Math.round(replaying) });
  }
}

export function stopwatch() {
  let before = 0;
  let since: number | undefined;
  const ms = () => before + (since === undefined ? 0 : monotonic() - since);
  return {
    get ms(): number {
      return ms();
    },

    get isOn(): boolean {
      return since !== undefined;
    },

    start(): void {
      since ??= monotonic();
    },

    stop(): void {
      before = ms();
      since = undefined;
    },
  };
}

/** Time in turns, minus the time known to have been spent waiting for a core or for the host. */
class TurnTime {
  readonly #turns = stopwatch();
  #endedUnseen = false;
  #waitedMs = 0;
  /** Clock time at the last reading that was taken into account, and the processor time read then. */
  #measuredMs = 0;
  #readMs = 0;
  #processorMs: number | undefined;
  #isStalled = false;

  get ms(): number {
    return this.#turns.ms - this.#waitedMs;
  }

  get isOn(): boolean {
    return this.#turns.isOn;
  }

  begin(): void {
    this.#turns.start();
  }

  end(): void {
    if (!this.isOn) return;
    this.#turns.stop();
    this.#endedUnseen = true;
  }

  /** Discards the last reading: it belongs to the previous guest. */
  beginReadings(): void {
    this.#processorMs = undefined;
  }

  /** Reads the processor time and returns the time that counts, in milliseconds. Time without processor use counts only once the program is known to be stalled. */
  measure({ processorMs, isListening }: Pick<ClockReadings, "processorMs" | "isListening">): number {
    if (this.isOn || this.#endedUnseen) this.#look(processorMs(), isListening());
    this.#endedUnseen = false;
    return this.#measuredMs - this.#waitedMs;
  }

  #look(processorMs: number | undefined, isListening: boolean): void {
    const clockMs = this.#turns.ms;
    const passedMs = clockMs - this.#measuredMs;
    const unreadMs = clockMs - this.#readMs;
    this.#readMs = clockMs;
    if (processorMs !== undefined && this.#processorMs !== undefined) {
      const usedMs = processorMs - this.#processorMs;
      if (usedMs > 0) this.#waitedMs += Math.max(0, passedMs - usedMs);
      else if (!isListening || unreadMs > LATE_MS) {
        this.#waitedMs += unreadMs;
        this.#measuredMs += unreadMs;
        return;
      } else if (!this.#isStalled && passedMs <= STALLED_MS) return;
      this.#isStalled = usedMs <= 0;
    }
    this.#measuredMs = clockMs;
    this.#processorMs = processorMs;
  }
}
