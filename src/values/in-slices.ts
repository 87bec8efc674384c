import { monotonic } from "../clock.ts";
import type { Lane } from "./slice-scheduler.ts";

/** Time of the host's thread before a reader asks for another slice, in milliseconds. */
const SLICE_MS = 1;

/** Asks for another slice of the host's thread whenever a slice is over. */
export class Slices {
  readonly #lane: Lane;
  #until = 0;

  constructor(lane: Lane) {
    this.#lane = lane;
  }

  async next(): Promise<void> {
    if (monotonic() < this.#until) return;
    const turn = this.#lane.run(() => undefined);
    if (turn) await turn;
    this.#until = monotonic() + SLICE_MS;
  }
}

/** Passes items on, in slices: a store in memory yields its items without a pause, and may have hundreds of readers. */
export async function* inSlices<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  lane: Lane,
): AsyncGenerator<Awaited<Item>> {
  const slices = new Slices(lane);
  for await (const item of items) {
    await slices.next();
    yield item;
  }
}
