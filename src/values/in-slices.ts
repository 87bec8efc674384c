import type { Lane } from "./slice-scheduler.ts";

/** Time of the host's thread before it is asked for again, in milliseconds. */
const SLICE_MS = 1;

/**
 * Passes items on, and shares the host's thread with all other sliced work in between: a store in memory gives all of its
 * items in one go, and there may be hundreds of readers.
 */
export async function* inSlices<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  lane: Lane,
): AsyncGenerator<Awaited<Item>> {
  let until = 0;
  for await (const item of items) {
    if (performance.now() >= until) {
      const turn = lane.run(() => undefined);
      if (turn) await turn;
      until = performance.now() + SLICE_MS;
    }
    yield item;
  }
}
