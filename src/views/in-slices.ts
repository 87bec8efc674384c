import { setImmediate } from "node:timers/promises";

/** Time of the host's thread before others get it, in milliseconds. */
const SLICE_MS = 5;

/** Passes items on, and lets others have the host's thread in between: a store in memory gives all of them in one go. */
export async function* inSlices<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item> {
  let since = performance.now();
  for await (const item of items) {
    if (performance.now() - since > SLICE_MS) {
      await setImmediate();
      since = performance.now();
    }
    yield item;
  }
}
