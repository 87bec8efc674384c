import { AsyncLocalStorage } from "node:async_hooks";
import { PortcullisError } from "../errors.ts";
import { object, type OptionsOf, optionsIn, readOptions, type Resolved, wholeNumber } from "../options/options.ts";
import { countNames, type InLine, WaitingLine } from "../sandboxes/waiting-line.ts";

const PLACES_RULES = {
  /** Executions, conversations and calls that run at once. */
  atOnce: wholeNumber({ min: 1 }),
  /** The same for each tenant. */
  perTenant: wholeNumber({ min: 1 }),
  /** How many may wait for a place; 1,000 by default. */
  queued: wholeNumber({ min: 0, default: 1000 }),
};

export type PlacesOptions = OptionsOf<typeof PLACES_RULES>;

/** The option `executions`, which `placesOf` checks. */
export const PLACES_OPTION = object<PlacesOptions>();

/** Throws `option_invalid`. Undefined where nothing is bounded. */
export function placesOf(given: PlacesOptions | undefined): Places | undefined {
  if (!given) return undefined;
  const read = readOptions(optionsIn("createRuntime", "executions"), given, PLACES_RULES);
  return read.atOnce === undefined && read.perTenant === undefined ? undefined : new Places(read);
}

/** How many executions, conversations and calls of a runtime run, and how many wait for a place. */
export interface QueueState {
  readonly running: number;
  readonly waiting: number;
}

interface Waiter extends InLine {
  readonly resolve: () => void;
}

interface PlaceRequest {
  readonly tenant: string;
  readonly signal: AbortSignal;
  readonly onWaiting: () => void;
}

/** A place of an execution. */
interface Place {
  readonly places: Places;
  /** The one within which it was taken: of another runtime, or of an execution that has ended. */
  readonly outer: Place | undefined;
  isHeld: boolean;
}

/** The place of the execution to which the work under way belongs. What an execution has begun may outlive it. */
const within = new AsyncLocalStorage<Place>();
const NONE_COMING: ReadonlyMap<string, number> = new Map();

/**
 * The places of a runtime for executions, conversations and calls that run at once. Those that wait are served in turn by
 * tenant. What an execution starts itself, programs of a conversation and whatever a handler runs, shares its place:
 * it would wait for a place that its caller holds.
 */
export class Places {
  readonly #atOnce: number;
  readonly #perTenant: number;
  readonly #queued: number;
  readonly #line: WaitingLine<Waiter>;
  /** The tenant of each execution that runs. */
  readonly #running: string[] = [];

  constructor({
    atOnce = Number.POSITIVE_INFINITY,
    perTenant = Number.POSITIVE_INFINITY,
    queued,
  }: Resolved<typeof PLACES_RULES>) {
    this.#atOnce = atOnce;
    this.#perTenant = perTenant;
    this.#queued = queued;
    this.#line = new WaitingLine(queued, perTenant);
  }

  get state(): QueueState {
    return { running: this.#running.length, waiting: this.#line.length };
  }

  /**
   * Runs work when there is a place for it. Once the signal is aborted it runs at once, because it ends at once. Calls
   * `onWaiting` if it must wait. Rejects with `busy` if as many wait as may.
   */
  async run<Value>({ tenant, signal, onWaiting }: PlaceRequest, work: () => Promise<Value>): Promise<Value> {
    if (this.#isWithin() || signal.aborted) return work();
    if (!this.#take(tenant)) {
      const waiting = this.#wait(tenant, signal);
      onWaiting();
      if (!(await waiting)) return work();
    }
    const place: Place = { places: this, outer: heldOf(within.getStore()), isHeld: true };
    try {
      return await within.run(place, work);
    } finally {
      place.isHeld = false;
      this.#running.splice(this.#running.indexOf(tenant), 1);
      this.#serve();
    }
  }

  #isWithin(): boolean {
    for (let place = within.getStore(); place; place = place.outer)
      if (place.places === this && place.isHeld) return true;
    return false;
  }

  #take(tenant: string): boolean {
    const own = this.#running.filter((one) => one === tenant).length;
    if (this.#running.length >= this.#atOnce || own >= this.#perTenant) return false;
    this.#running.push(tenant);
    return true;
  }

  /** Resolves with whether there is a place now; without one once the signal is aborted. */
  async #wait(tenant: string, signal: AbortSignal): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const waiter: Waiter = { tenant, resolve: () => resolve(true), reject: () => reject(this.#busy()) };
    const onAbort = () => {
      this.#line.remove(waiter);
      resolve(false);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#line.add(waiter);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  #serve(): void {
    while (this.#running.length < this.#atOnce) {
      const tenant = this.#line.next(countNames(this.#running), NONE_COMING);
      const waiter = tenant === undefined ? undefined : this.#line.take(tenant);
      if (!waiter) return;
      this.#running.push(waiter.tenant);
      waiter.resolve();
    }
  }

  #busy(): PortcullisError {
    return new PortcullisError(
      "busy",
      `The runtime runs as many executions as it may, and ${this.#queued} wait already (createRuntime({ executions: { queued } })). Nothing was started. Try again later.`,
    );
  }
}

/** The innermost place that is still held: a chain of those that are not would grow with each execution. */
function heldOf(place: Place | undefined): Place | undefined {
  let held = place;
  while (held && !held.isHeld) held = held.outer;
  return held;
}
