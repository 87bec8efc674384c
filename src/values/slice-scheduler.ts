/**
 * Time that sliced work may take of one turn of the event loop, with all that it sets off there, in milliseconds. Work
 * that comes later waits for the next turn.
 */
const TURN_MS = 5;
/** Time that one piece of work has before the next one gets the thread, in milliseconds. */
const SLICE_MS = 1;
/** Short slices of one lane that are done before what they set off: answers that are made together travel together. */
const SLICES_TOGETHER = 32;

/** What a scheduler knows of the event loop. */
export interface LoopClock {
  /** Milliseconds. */
  now(): number;
  /** Calls back in the event loop's next turn. */
  nextTurn(callback: () => void): void;
  /** Calls back in this turn, once all promises that can go on have gone on. */
  settled(callback: () => void): void;
}

const NODE_CLOCK: LoopClock = {
  now: () => performance.now(),
  nextTurn: (callback) => void setImmediate(callback),
  // Ticks run before microtasks, but for those that a microtask has set, which wait until no microtask is left.
  settled: (callback) => queueMicrotask(() => process.nextTick(callback)),
};

/** Work that gives up the thread wherever it yields. */
export type SlicedWork<Value> = Generator<undefined, Value>;

/** Does one slice; returns whether the work is done. */
type Slice = () => boolean;

/**
 * Shares the host's thread among all work whose length others decide: texts of guests, inputs and results of tools.
 * There is one for the process. In each turn of the event loop it gives such work one budget of time; what is left over
 * waits, and is served round robin: tenant after tenant, within a tenant lane after lane, each for a slice of time.
 */
export class SliceScheduler {
  readonly #clock: LoopClock;
  /** Lanes with waiting work by tenant. Who was served goes to the end of both. */
  readonly #waiting = new Map<string, Set<Lane>>();
  /** When the first sliced work of this turn began. */
  #turnSince: number | undefined;

  constructor(clock: LoopClock = NODE_CLOCK) {
    this.#clock = clock;
  }

  /** Takes the thread for work that begins now, where there is time left and none waits for it. */
  start(): boolean {
    if (this.#waiting.size > 0) return false;
    if (this.#turnSince !== undefined) return this.#clock.now() < this.#turnSince + TURN_MS;
    this.#beginTurn();
    return true;
  }

  /** When work that has the thread now should give it up. */
  sliceEnd(): number {
    const now = this.#clock.now();
    return Math.min(now + SLICE_MS, (this.#turnSince ?? now) + TURN_MS);
  }

  now(): number {
    return this.#clock.now();
  }

  enqueue(lane: Lane): void {
    const lanes = this.#waiting.get(lane.tenant);
    if (lanes) lanes.add(lane);
    else this.#waiting.set(lane.tenant, new Set([lane]));
    // Work waits only in a turn that has begun, and whose end is therefore awaited.
    if (this.#turnSince === undefined) this.#beginTurn();
  }

  #beginTurn(): void {
    this.#turnSince = this.#clock.now();
    this.#clock.nextTurn(() => this.#endTurn());
  }

  #endTurn(): void {
    this.#turnSince = undefined;
    if (this.#waiting.size === 0) return;
    this.#beginTurn();
    this.#serve();
  }

  /** What slices set off is part of what they cost, so after a few of them the next ones begin once that is done. */
  #serve(): void {
    const lane = this.#next();
    if (!lane) return;
    const end = this.sliceEnd();
    let served = 0;
    do {
      lane.serve();
      served += 1;
    } while (lane.isWaiting && served < SLICES_TOGETHER && this.#clock.now() < end);
    if (lane.isWaiting) this.enqueue(lane);
    this.#clock.settled(() => {
      if (this.#clock.now() < (this.#turnSince ?? 0) + TURN_MS) this.#serve();
    });
  }

  #next(): Lane | undefined {
    for (const [tenant, lanes] of this.#waiting) {
      this.#waiting.delete(tenant);
      for (const lane of lanes) {
        lanes.delete(lane);
        if (lanes.size > 0) this.#waiting.set(tenant, lanes);
        return lane;
      }
    }
    return undefined;
  }
}

const processScheduler = new SliceScheduler();

/** The sliced work of one execution or conversation. */
export class Lane {
  readonly tenant: string;
  readonly #scheduler: SliceScheduler;
  readonly #slices = new Set<Slice>();

  constructor(tenant: string, scheduler = processScheduler) {
    this.tenant = tenant;
    this.#scheduler = scheduler;
  }

  get isWaiting(): boolean {
    return this.#slices.size > 0;
  }

  /** Does something that cannot be cut: at once where there is time in this turn of the event loop, else when it is its turn. */
  run<Value>(step: () => Value): Value | Promise<Awaited<Value>> {
    if (this.#scheduler.start()) return step();
    return new Promise((resolve, reject) => {
      this.#wait(() => {
        try {
          resolve(step() as Awaited<Value>);
        } catch (error) {
          reject(error);
        }
        return true;
      });
    });
  }

  /** Does work in slices, the first at once where there is time. Not always a promise, for most work is short. */
  work<Value>(work: SlicedWork<Value>): Value | Promise<Value> {
    if (this.#scheduler.start()) {
      const first = this.#advance(work);
      if (first.done) return first.value;
    }
    return new Promise((resolve, reject) => {
      this.#wait(() => {
        try {
          const { done, value } = this.#advance(work);
          if (done) resolve(value);
          return done === true;
        } catch (error) {
          reject(error);
          return true;
        }
      });
    });
  }

  /** Does the slice that has waited longest, for the scheduler. */
  serve(): void {
    for (const slice of this.#slices) {
      this.#slices.delete(slice);
      if (!slice()) this.#slices.add(slice);
      return;
    }
  }

  #advance<Value>(work: SlicedWork<Value>): IteratorResult<undefined, Value> {
    const end = this.#scheduler.sliceEnd();
    for (;;) {
      const result = work.next();
      if (result.done || this.#scheduler.now() >= end) return result;
    }
  }

  #wait(slice: Slice): void {
    this.#slices.add(slice);
    this.#scheduler.enqueue(this);
  }
}
