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
 * `before`: the times of earlier drivers of the same execution, which count in the limits.
 */
export function clocksOf(
  limits: ClockLimits,
  onAlarm: (alarm: ClockAlarm) => void,
  readings: ClockReadings,
  before: PastTimes = { cpuMs: 0, wallMs: 0, approvalMs: 0 },
) {
  const approvals = new WaitedTime();
  const store = new WaitedTime();
  const runningTime = turnTime();
  const replayingTime = turnTime();
  /** The last replay: how long it took, and the times at its end. */
  let lastReplay = { ms: 0, cpuMs: 0, replayingMs: 0 };
  const wall = stopwatch();
  /** Time in which the program had something to do, and no guest to do it. */
  const away = stopwatch();
  let ticker: Timer | undefined;

  function wait(): void {
    runningTime.end();
    replayingTime.end();
  }

  function tickEvery(ms: number): void {
    cancel(ticker);
    ticker = every(ms, tick);
  }

  const wallMs = () => before.wallMs + wall.ms - away.ms - approvals.ms - store.ms;

  function tick(): void {
    const isHeld = !away.isOn && readings.waitsForApproval();
    approvals.look(isHeld);
    store.look(!away.isOn && !isHeld && readings.waitsForStore());
    const spent = [
      ["cpuMs", limits.cpuMs, before.cpuMs + runningTime.measure(readings)],
      ["wallMs", limits.wallMs, wallMs()],
      ["replays", limits.cpuMs, replayingTime.measure(readings)],
    ] as const;
    const over = spent.find(([, allowed, ms]) => ms > allowed);
    if (over) onAlarm({ limit: over[0], allowed: over[1], seen: Math.round(over[2]) });
  }

  return {
    get isRunning(): boolean {
      return runningTime.isOn || replayingTime.isOn;
    },

    get cpuMs(): number {
      return before.cpuMs + runningTime.ms;
    },

    get wallMs(): number {
      return wallMs();
    },

    get replayingMs(): number {
      return replayingTime.ms;
    },

    /** At most the time of a replay of all turns: those never replayed count as long as they ran, which is longer. */
    get replayMs(): number {
      return lastReplay.ms + runningTime.ms - lastReplay.cpuMs;
    },

    get approvalMs(): number {
      return before.approvalMs + approvals.ms;
    },

    /** The program has a new guest, which is not in the program's state yet unless it is the first. */
    begin(): void {
      wall.start();
      tickEvery(TICK_MS);
      runningTime.beginReadings();
      replayingTime.beginReadings();
    },

    run: runningTime.begin,
    /** The program has lost its guest, and needs another one. Does nothing before it has started. */
    leave(): void {
      if (wall.isOn) away.start();
    },

    arrive(): void {
      away.stop();
      const replayingMs = replayingTime.ms;
      if (replayingMs === lastReplay.replayingMs) return;
      lastReplay = { ms: replayingMs - lastReplay.replayingMs, cpuMs: runningTime.ms, replayingMs };
    },

    /** The program has no guest, and needs none until it has something to do. */
    rest: () => tickEvery(REST_TICK_MS),

    replay: replayingTime.begin,
    wait,
    stop(): void {
      wait();
      cancel(ticker);
    },
  };
}

export type Clocks = ReturnType<typeof clocksOf>;

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

export type Stopwatch = ReturnType<typeof stopwatch>;

/** Time in turns, minus the time known to have been spent waiting for a core or for the host. */
function turnTime() {
  const turns = stopwatch();
  let endedUnseen = false;
  let waitedMs = 0;
  /** Clock time at the last reading that was taken into account, and the processor time read then. */
  let measuredMs = 0;
  let readMs = 0;
  let lastProcessorMs: number | undefined;
  let isStalled = false;

  function look(processorMs: number | undefined, isListening: boolean): void {
    const clockMs = turns.ms;
    const passedMs = clockMs - measuredMs;
    const unreadMs = clockMs - readMs;
    readMs = clockMs;
    if (processorMs !== undefined && lastProcessorMs !== undefined) {
      const usedMs = processorMs - lastProcessorMs;
      if (usedMs > 0) waitedMs += Math.max(0, passedMs - usedMs);
      else if (!isListening || unreadMs > LATE_MS) {
        waitedMs += unreadMs;
        measuredMs += unreadMs;
        return;
      } else if (!isStalled && passedMs <= STALLED_MS) return;
      isStalled = usedMs <= 0;
    }
    measuredMs = clockMs;
    lastProcessorMs = processorMs;
  }

  return {
    get ms(): number {
      return turns.ms - waitedMs;
    },

    get isOn(): boolean {
      return turns.isOn;
    },

    begin(): void {
      turns.start();
    },

    end(): void {
      if (!turns.isOn) return;
      turns.stop();
      endedUnseen = true;
    },

    /** Discards the last reading: it belongs to the previous guest. */
    beginReadings(): void {
      lastProcessorMs = undefined;
    },

    /** Reads the processor time and returns the time that counts, in milliseconds. Time without processor use counts only once the program is known to be stalled. */
    measure({ processorMs, isListening }: Pick<ClockReadings, "processorMs" | "isListening">): number {
      if (turns.isOn || endedUnseen) look(processorMs(), isListening());
      endedUnseen = false;
      return measuredMs - waitedMs;
    },
  };
}
