import { addAbortListener } from "node:events";

/** A timer that is set. `using` or `cancel` ends it. */
export interface Timer extends Disposable {
  /** The process may end before it is due. */
  unref(): Timer;
  /** Begins its time anew. */
  refresh(): Timer;
}

export interface Clock {
  now(): number;
  monotonic(): number;
  after(ms: number, run: () => void): Timer;
  every(ms: number, run: () => void): Timer;
  deadline(ms: number): AbortSignal;
}

/** A delay that node can count: it drops the part of a millisecond, sets a longer one to 1 ms, and warns of a negative one. */
export const countable = (ms: number): number => Math.min(Math.max(Math.ceil(ms), 0), 2 ** 31 - 1);

/** A host may have replaced node's timers, whose own have all that a `Timer` has. */
class NodeTimer implements Timer {
  readonly #timer: NodeJS.Timeout;

  constructor(timer: NodeJS.Timeout) {
    this.#timer = timer;
  }

  unref(): this {
    this.#timer.unref();
    return this;
  }

  refresh(): this {
    this.#timer.refresh();
    return this;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

export const realClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, run) => new NodeTimer(setTimeout(run, countable(ms))),
  every: (ms, run) => new NodeTimer(setInterval(run, countable(ms))),
  deadline: (ms) => AbortSignal.timeout(countable(ms)),
};

let clock = realClock;

/** Milliseconds since 1970, for records and for other machines. A person or a time server may set them back. */
export const now = (): number => clock.now();

/** Milliseconds for durations in this process: they never go back. */
export const monotonic = (): number => clock.monotonic();

/** Calls `run` once, after 24 days at the latest. The process does not end before, unless the timer is unreferenced. */
export const after = (ms: number, run: () => void): Timer => clock.after(ms, run);

export const every = (ms: number, run: () => void): Timer => clock.every(ms, run);

/** A signal that is aborted with a `TimeoutError`. It does not keep the process, and costs nothing once it is unreachable. */
export const deadline = (ms: number): AbortSignal => clock.deadline(ms);

export const cancel = (timer: Timer | undefined): void => timer?.[Symbol.dispose]();

export interface PauseOptions {
  readonly signal?: AbortSignal | null | undefined;
  /** Whether the process is kept until then; true by default. */
  readonly ref?: boolean;
}

/** Resolves after so long, or once the signal is aborted. */
export function pause(ms: number, { signal, ref = true }: PauseOptions = {}): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      cancel(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = after(ms, end);
    if (!ref) timer.unref();
    signal?.addEventListener("abort", end);
  });
}

/** As they were when the package was loaded: fake timers of a host's tests replace the global ones, and never call back. */
export const { setImmediate, clearImmediate, queueMicrotask } = globalThis;
export const nextTick = process.nextTick.bind(process);

/** Lets what waits for the event loop run first. That is no time, and takes none on any clock. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Has all modules of this thread use another clock, until it is disposed. Timers that are set stay with their clock. */
export function replaceClock(other: Clock): Disposable {
  const before = clock;
  clock = other;
  return { [Symbol.dispose]: () => void (clock = before) };
}

/** The value of the work. Rejects with the signal's reason if the signal is aborted first; the end of the work is then ignored. */
export async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  using _ = addAbortListener(signal, onAbort);
  return await Promise.race([aborted.promise, work]);
}

/** Measures, by looks at short intervals, how long work waits for approvals or a locked journal. */
export class WaitedTime {
  #ms = 0;
  #waited = false;
  #lookedAt = 0;

  /** Milliseconds. The time between two looks counts if the work waited at both. */
  get ms(): number {
    return this.#ms;
  }

  look(waits: boolean): void {
    const now = monotonic();
    if (waits && this.#waited) this.#ms += now - this.#lookedAt;
    this.#waited = waits;
    this.#lookedAt = now;
  }
}
