import type { Lane } from "./slice-scheduler.ts";

/** Time of the host's thread before this reader asks for another slice, in milliseconds. */
const SLICE_MS = 1;

/**
 * Passes items on, and shares the host's thread with all other sliced work in between: a store in memory yields all of
 * its items without a pause, and there may be hundreds of readers.
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
