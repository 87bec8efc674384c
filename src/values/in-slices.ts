import { monotonic, nextTurn } from "../clock.ts";
import { type Lane, SLICE_MS, TURN_MS } from "./slice-scheduler.ts";

/** Lets other work have the host's thread: on a lane all that waits after each slice, else the event loop once a turn is over. */
export class Pace {
  readonly #lane: Lane | undefined;
  #until: number;

  constructor(lane?: Lane) {
    this.#lane = lane;
    // The turn that a lane begins in may have no time left.
    this.#until = lane ? 0 : monotonic() + TURN_MS;
  }

  async rest(): Promise<void> {
    if (monotonic() < this.#until) return;
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
