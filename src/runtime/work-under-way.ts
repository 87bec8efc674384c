import { AsyncLocalStorage } from "node:async_hooks";
import {
  hasCode,
  object,
  optionsIn,
  type OptionsOf,
  Places,
  PortcullisError,
  readOptions,
  wholeNumber,
  after,
} from "../base/index.ts";
import type { AgentScope } from "../conversations/agent-scope.ts";

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
  readonly places: Places;
  /** The place within which it was taken: a place of another runtime, or of an execution that has ended. */
  readonly outer: Place | undefined;
  isHeld: boolean;
}

/** The place of the execution to which the work under way belongs. What an execution has begun may outlive it. */
const within = new AsyncLocalStorage<Place>();

export type ExecutionPlaces = NonNullable<ReturnType<typeof placesOf>>;

/**
 * The places of a runtime for executions, conversations and calls that run at once. Waiting tenants are served in turn.
 * What an execution starts itself, programs of a conversation and whatever a handler runs, shares its place: otherwise
 * it would wait for a place that its caller holds. Undefined if nothing is bounded. Throws `option_invalid`.
 */
export function placesOf(options: PlacesOptions | undefined) {
  const read = readOptions(optionsIn("createRuntime", "executions"), options ?? {}, PLACES_RULES);
  const { concurrency: atOnce = Infinity, perTenant, queued } = read;
  if (read.concurrency === undefined && perTenant === undefined) return undefined;
  const places = new Places({ atOnce, first: atOnce, perTenant, queued, full: () => busy(queued) });
  return {
    get state(): QueueState {
      return { running: places.activeCount, waiting: places.waiting };
    },
    /**
     * Runs work when there is a place for it. Once the signal is aborted it runs at once, because it ends at once. Calls
     * `onWaiting` if it must wait. Rejects with `busy` if as many wait as may.
     */
    async run<Value>({ tenant, signal, onWaiting }: PlaceRequest, work: () => Promise<Value>): Promise<Value> {
      if (isWithin(places) || signal.aborted) return work();
      const release = await places.take(tenant, signal, onWaiting);
      if (!release) return work();
      const place: Place = { places, outer: heldOf(within.getStore()), isHeld: true };
      try {
        return await within.run(place, work);
      } finally {
        place.isHeld = false;
        release();
      }
    },
  };
}

function isWithin(places: Places): boolean {
  for (let place = within.getStore(); place; place = place.outer)
    if (place.places === places && place.isHeld) return true;
  return false;
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

/** The executions, conversations and calls that a runtime runs, which end when it closes. */
export interface WorkUnderWay {
  /** Aborted when the runtime closes; the reason is a `PortcullisError` with the code `runtime_closed` or `runtime_suspended`. */
  readonly closing: AbortSignal;
  readonly queue: QueueState;
  /** Runs work when there is a place for it. `execution` is its id, if its caller chose one. */
  readonly inPlace: <Value>(
    scope: Pick<AgentScope, "tenant" | "signal" | "onEvent">,
    work: () => Promise<Value>,
    execution?: string,
  ) => Promise<Value>;
  /** Lets the closing of this runtime and of its parent wait for this work. */
  readonly untilEnded: <Value>(work: Promise<Value>) => Promise<Value>;
  readonly close: () => Promise<void>;
  /** Leaves the work open in the journal, after it had `afterMs` to end by itself. Resolves with how much of it was left open. */
  readonly suspend: (afterMs: number) => Promise<number>;
}

export function workUnderWay(places: ExecutionPlaces | undefined, parent: WorkUnderWay | undefined): WorkUnderWay {
  const ending = new AbortController();
  const running = new Set<Promise<unknown>>();
  const untilIdle = async (ms: number) => {
    const deadline = Promise.withResolvers<"late">();
    using _ = after(ms, () => deadline.resolve("late"));
    while (running.size > 0)
      if ((await Promise.race([Promise.allSettled(running), deadline.promise])) === "late") break;
  };
  return {
    closing: parent ? AbortSignal.any([parent.closing, ending.signal]) : ending.signal,
    get queue() {
      return places?.state ?? { running: running.size, waiting: 0 };
    },
    async inPlace({ tenant, signal, onEvent }, work, execution = "") {
      if (!places) return work();
      const onWaiting = () => onEvent({ type: "execution_queued", execution, tenant, ...places.state });
      return places.run({ tenant, signal, onWaiting }, work);
    },
    async untilEnded(work) {
      running.add(work);
      try {
        return await (parent ? parent.untilEnded(work) : work);
      } finally {
        running.delete(work);
      }
    },
    async close() {
      ending.abort(new PortcullisError("runtime_closed", "The runtime was closed."));
      await Promise.allSettled(running);
    },
    async suspend(afterMs) {
      await untilIdle(afterMs);
      const tasks = [...running];
      ending.abort(
        new PortcullisError(
          "runtime_suspended",
          "The runtime was suspended. What it ran stays open in the journal: `recover` or `resume` of another runtime continues it.",
        ),
      );
      const ended = await Promise.allSettled(tasks);
      const errors = ended.map((one): unknown => (one.status === "rejected" ? one.reason : undefined));
      return errors.filter((error) => hasCode(error, "runtime_suspended")).length;
    },
  };
}
