import { AsyncLocalStorage } from "node:async_hooks";
import {
  object,
  optionsIn,
  type OptionsOf,
  Places,
  PortcullisError,
  readOptions,
  type CheckedOptions,
  wholeNumber,
} from "../base/index.ts";

export const PLACES_RULES = {
  /** Executions, conversations and calls that run at once. A tenant of which none runs does not wait for others: up to as many again run so. */
  concurrency: wholeNumber({ min: 1 }),
  /** The same for each tenant; any number by default. */
  perTenant: wholeNumber({ min: 1 }),
  /** How many may wait for a place; 1,000 by default. */
  queued: wholeNumber({ min: 0, default: 1000 }),
};

export type PlacesOptions = OptionsOf<typeof PLACES_RULES>;

/** The option `executions`, which `placesOf` checks. */
export const PLACES_OPTION = object<PlacesOptions>();

/** Throws `option_invalid`. Undefined if nothing is bounded. */
export function placesOf(given: PlacesOptions | undefined): ExecutionPlaces | undefined {
  if (!given) return undefined;
  const read = readOptions(optionsIn("createRuntime", "executions"), given, PLACES_RULES);
  return read.concurrency === undefined && read.perTenant === undefined ? undefined : new ExecutionPlaces(read);
}

/** How many executions, conversations and calls of a runtime run, and how many wait for a place. */
export interface QueueState {
  readonly running: number;
  readonly waiting: number;
}

interface PlaceRequest {
  readonly tenant: string;
  readonly signal: AbortSignal;
  readonly onWaiting: () => void;
}

interface Place {
  readonly places: ExecutionPlaces;
  /** The place within which it was taken: a place of another runtime, or of an execution that has ended. */
  readonly outer: Place | undefined;
  isHeld: boolean;
}

/** The place of the execution to which the work under way belongs. What an execution has begun may outlive it. */
const within = new AsyncLocalStorage<Place>();

/**
 * The places of a runtime for executions, conversations and calls that run at once. Waiting tenants are served in turn.
 * What an execution starts itself, programs of a conversation and whatever a handler runs, shares its place: otherwise
 * it would wait for a place that its caller holds.
 */
export class ExecutionPlaces {
  readonly #places: Places;

  constructor({
    concurrency: atOnce = Number.POSITIVE_INFINITY,
    perTenant,
    queued,
  }: CheckedOptions<typeof PLACES_RULES>) {
    this.#places = new Places({ atOnce, first: atOnce, perTenant, queued, full: () => busy(queued) });
  }

  get state(): QueueState {
    return { running: this.#places.taken, waiting: this.#places.waiting };
  }

  /**
   * Runs work when there is a place for it. Once the signal is aborted it runs at once, because it ends at once. Calls
   * `onWaiting` if it must wait. Rejects with `busy` if as many wait as may.
   */
  async run<Value>({ tenant, signal, onWaiting }: PlaceRequest, work: () => Promise<Value>): Promise<Value> {
    if (this.#isWithin() || signal.aborted) return work();
    const release = await this.#places.take(tenant, signal, onWaiting);
    if (!release) return work();
    const place: Place = { places: this, outer: heldOf(within.getStore()), isHeld: true };
    try {
      return await within.run(place, work);
    } finally {
      place.isHeld = false;
      release();
    }
  }

  #isWithin(): boolean {
    for (let place = within.getStore(); place; place = place.outer)
      if (place.places === this && place.isHeld) return true;
    return false;
  }
}

function busy(queued: number): PortcullisError {
  return new PortcullisError(
    "busy",
    `The runtime runs as many executions as it may, and ${queued} wait already (createRuntime({ executions: { queued } })). Nothing was started. Try again later.`,
  );
}

/** The innermost place that is still held. Keeping places that are not held would let the chain grow with each execution. */
function heldOf(place: Place | undefined): Place | undefined {
  let held = place;
  while (held && !held.isHeld) held = held.outer;
  return held;
}
