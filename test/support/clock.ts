import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { after, countable, every, type Timer } from "../../src/base/index.ts";
import { type Clock, realClock, replaceClock } from "../../src/base/clock.ts";

/** Turns of the event loop in which what a timer has begun goes on, before the next timer is due. */
const TURNS = 3;

/** A clock that stands still until a test moves it. */
export interface ManualClock extends Clock {
  /** How many timers are set by what was begun after this clock. What tests before it have left in the process does not count. */
  readonly timers: number;
  /** Lets so much time pass: timers run in the order in which they are due, and what they begin goes on between them. */
  advance(ms: number): Promise<void>;
  /** Lets so much time pass within one turn: what timers begin goes on after all of them. */
  pass(ms: number): void;
  /** The thread is busy for so long: timers that are due meanwhile run late, and an interval once. */
  block(ms: number): void;
  /** Sets the wall clock, forwards or back. No time passes. */
  jump(ms: number): void;
}

/** Replaces the clock of all modules of this process until the test ends. What is still set then is due on the real clock. */
export function manualClock(now = Date.now()): ManualClock {
  const clock = new StandingClock(now);
  const replaced = replaceClock(clock);
  onTestFinished(() => {
    replaced[Symbol.dispose]();
    clock.handOver();
  });
  return clock;
}

/** Has the real clock be that of all modules of this process with a change, until the test ends. */
export function changedClock(change: Partial<Clock>): void {
  const replaced = replaceClock({ ...realClock, ...change });
  onTestFinished(() => replaced[Symbol.dispose]());
}

/** Has the clock of all modules go on as it does until the test ends, with a wall clock that can be set. */
export function settableClock(): Pick<ManualClock, "jump"> {
  let ahead = 0;
  changedClock({ now: () => Date.now() + ahead });
  return { jump: (ms) => void (ahead += ms) };
}

/** Has timers of all modules be due late until the test ends: what has a time for its last word has as long as this machine takes. */
export function patientClock(): void {
  changedClock({ after: (ms, run) => realClock.after(ms * 600, run) });
}

/** A signal of no deadline: how busy the machine is would decide which work reaches it. */
export const never: Clock["deadline"] = () => new AbortController().signal;

/**
 * Has the clock of all modules go on as it does until the test ends, with work that takes so long and does not hold the thread.
 * There are no deadlines.
 */
export function workingClock(): { readonly work: (ms: number) => void } {
  let worked = 0;
  changedClock({ monotonic: () => realClock.monotonic() + worked, deadline: never });
  return { work: (ms) => void (worked += ms) };
}

class StandingClock implements ManualClock {
  readonly #set = new Set<ManualTimer>();
  readonly #begun = new AsyncLocalStorage<true>();
  #passed = Math.ceil(performance.now());
  #ahead: number;

  constructor(now: number) {
    this.#ahead = now - this.#passed;
    this.#begun.enterWith(true);
  }

  get timers(): number {
    return [...this.#set].filter(({ isOwn }) => isOwn).length;
  }

  now(): number {
    return Math.floor(this.#passed + this.#ahead);
  }

  monotonic(): number {
    return this.#passed;
  }

  after(ms: number, run: () => void): Timer {
    return this.#timer(ms, run, false);
  }

  every(ms: number, run: () => void): Timer {
    return this.#timer(ms, run, true);
  }

  #timer(ms: number, run: () => void, isRepeated: boolean): Timer {
    return new ManualTimer(this, this.#set, { ms, run, isRepeated, isOwn: this.#begun.getStore() === true });
  }

  deadline(ms: number): AbortSignal {
    const over = new AbortController();
    this.after(ms, () => over.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")));
    return over.signal;
  }

  async advance(ms: number): Promise<void> {
    await settle();
    for (const _ of this.#dueWithin(ms)) await settle();
  }

  pass(ms: number): void {
    for (const _ of this.#dueWithin(ms));
  }

  block(ms: number): void {
    this.#passed += ms;
    this.pass(0);
  }

  *#dueWithin(ms: number): Generator<void> {
    const until = this.#passed + ms;
    for (let next = this.#next(until); next; next = this.#next(until)) {
      this.#passed = Math.max(this.#passed, next.dueMs);
      yield next.fire();
    }
    this.#passed = Math.max(this.#passed, until);
  }

  jump(ms: number): void {
    this.#ahead += ms;
  }

  handOver(): void {
    for (const timer of this.#set) timer.handOver();
  }

  /** Of timers that are due at once, the one that was set first. */
  #next(until: number): ManualTimer | undefined {
    let next: ManualTimer | undefined;
    for (const timer of this.#set) if (timer.dueMs <= until && !(next && next.dueMs <= timer.dueMs)) next = timer;
    return next;
  }
}

interface Setting {
  readonly ms: number;
  readonly run: () => void;
  readonly isRepeated: boolean;
  readonly isOwn: boolean;
}

class ManualTimer implements Timer {
  dueMs = 0;
  readonly #clock: StandingClock;
  readonly #set: Set<ManualTimer>;
  readonly #setting: Setting;
  #isHeld = true;
  #real: Timer | undefined;

  constructor(clock: StandingClock, set: Set<ManualTimer>, setting: Setting) {
    this.#clock = clock;
    this.#set = set;
    this.#setting = setting;
    this.refresh();
  }

  get isOwn(): boolean {
    return this.#setting.isOwn;
  }

  refresh(): Timer {
    if (this.#real) this.#real.refresh();
    else {
      this.#set.delete(this);
      this.#set.add(this);
      // As node does it.
      this.dueMs = this.#clock.monotonic() + Math.max(1, countable(this.#setting.ms));
    }
    return this;
  }

  unref(): Timer {
    this.#isHeld = false;
    this.#real?.unref();
    return this;
  }

  fire(): void {
    if (this.#setting.isRepeated) this.refresh();
    else this.#set.delete(this);
    this.#setting.run();
  }

  handOver(): void {
    const { ms, run, isRepeated } = this.#setting;
    this.#set.delete(this);
    this.#real = isRepeated ? every(ms, run) : after(this.dueMs - this.#clock.monotonic(), run);
    if (!this.#isHeld) this.#real.unref();
  }

  [Symbol.dispose](): void {
    this.#set.delete(this);
    this.#real?.[Symbol.dispose]();
  }
}

/** Threads that have work take their own time: nothing is due before they have answered, however busy the machine is. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS || process.getActiveResourcesInfo().includes("MessagePort"); turn += 1)
    await setImmediate();
}
