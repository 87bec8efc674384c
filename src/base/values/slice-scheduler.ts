import { monotonic, nextTick, nextTurn, queueMicrotask, setImmediate } from "../clock.ts";

/**
 * Time for sliced work in one turn of the event loop, including the callbacks it triggers, in milliseconds. Work beyond
 * that waits for the next turn.
 */
export const TURN_MS = 5;
/** Time of a slice of work, in milliseconds. */
export const SLICE_MS = 1;
/** Short slices of a lane that run before the callbacks that they trigger, so that answers made together are sent together. */
const SLICES_TOGETHER = 32;

/** The scheduler's interface to the event loop. */
export interface LoopClock {
  /** Milliseconds. */
  now(): number;
  /** Calls back in the event loop's next turn. */
  nextTurn(callback: () => void): void;
  /** Calls back in this turn, once the microtask queue is empty. */
  settled(callback: () => void): void;
}

const NODE_CLOCK: LoopClock = {
  now: () => monotonic(),
  nextTurn: (callback) => void setImmediate(callback),
  // A tick set by a microtask runs only when no microtask is left; any other tick runs before the microtasks.
  settled: (callback) => queueMicrotask(() => nextTick(callback)),
};

/** Work that can release the thread at each yield. */
export type SlicedWork<Value> = Generator<undefined, Value>;

export function wholly<Value>(work: SlicedWork<Value>): Value {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Runs one slice. Returns whether the work is done. */
type Slice = () => boolean;

/**
 * Shares the host's thread among work of untrusted length: texts of guests, inputs and results of tools. The
 * process has one scheduler. It gives such work `TURN_MS` in each turn of the event loop. Remaining work waits and is
 * served round robin, slice by slice: first over tenants, then over a tenant's lanes.
 */
export class SliceScheduler {
  readonly #clock: LoopClock;
  /** Lanes with waiting work, by tenant. A served tenant moves to the end of the map, a served lane to the end of its set. */
  readonly #waiting = new Map<string, Set<Lane>>();
  /** When the first sliced work of this turn began. */
  #turnSince: number | undefined;

  constructor(clock: LoopClock = NODE_CLOCK) {
    this.#clock = clock;
  }

  /**
   * The time at which new work must release the thread if it begins at once. Undefined if it must wait, because the turn has
   * no time left or other work waits.
   */
  start(): number | undefined {
    if (this.#waiting.size > 0) return undefined;
    const now = this.#clock.now();
    if (this.#turnSince === undefined) this.#beginTurn(now);
    const turnEnd = (this.#turnSince ?? now) + TURN_MS;
    return now < turnEnd ? Math.min(now + SLICE_MS, turnEnd) : undefined;
  }

  /** The time at which a slice that starts at once must release the thread. */
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
    // Waiting work needs the end of a turn to be served, so a turn must have begun.
    if (this.#turnSince === undefined) this.#beginTurn();
  }

  #beginTurn(now = this.#clock.now()): void {
    this.#turnSince = now;
    this.#clock.nextTurn(() => this.#endTurn());
  }

  #endTurn(): void {
    this.#turnSince = undefined;
    if (this.#waiting.size === 0) return;
    this.#beginTurn();
    this.#serve();
  }

  /** Serves a lane, and the next lane after the callbacks that these slices trigger: their time counts too. */
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

  /** Runs a step that cannot be sliced: at once if this turn of the event loop has time, else in a later turn. */
  run<Value>(step: () => Value): Value | Promise<Awaited<Value>> {
    if (this.#scheduler.start() !== undefined) return step();
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

  /** Runs work in slices, the first slice at once if there is time. If that slice is enough, returns the value and no promise. */
  work<Value>(work: SlicedWork<Value>): Value | Promise<Value> {
    const end = this.#scheduler.start();
    if (end !== undefined) {
      const first = this.#advance(work, end);
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

  /** Runs the slice that has waited longest. For the scheduler. */
  serve(): void {
    for (const slice of this.#slices) {
      this.#slices.delete(slice);
      if (!slice()) this.#slices.add(slice);
      return;
    }
  }

  #advance<Value>(work: SlicedWork<Value>, end = this.#scheduler.sliceEnd()): IteratorResult<undefined, Value> {
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

/** Lets other work have the host's thread: on a lane all that waits after each slice, else the event loop once a turn is over. */
export class Pace {
  readonly #lane: Lane | undefined;
  #until: number;

  constructor(lane?: Lane) {
    this.#lane = lane;
    // The turn that a lane begins in may have no time left.
    this.#until = lane ? 0 : monotonic() + TURN_MS;
  }

  /** Whether a rest would last: for loops over many small values, to which a promise for each costs more than their work. */
  get isDue(): boolean {
    return monotonic() >= this.#until;
  }

  async rest(): Promise<void> {
    if (!this.isDue) return;
    await (this.#lane ? this.#lane.run(() => undefined) : nextTurn());
    this.#until = monotonic() + (this.#lane ? SLICE_MS : TURN_MS);
  }
}

/** Passes items on, in slices: a store in memory yields its items without a pause, and may have hundreds of readers. */
export async function* inSlices<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  lane: Lane,
): AsyncGenerator<Awaited<Item>> {
  const pace = new Pace(lane);
  for await (const item of items) {
    await pace.rest();
    yield item;
  }
}
