import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { inSlices, Lane } from "../../../src/base/index.ts";
import { workingClock } from "../../support/clock.ts";

test("however many readers there are, others have the thread after few of their items", async () => {
  const { work } = workingClock();
  let items = 0;
  const over = new AbortController();
  const { signal } = over;
  async function* records() {
    while (!signal.aborted) {
      items += 1;
      work(1);
      yield items;
    }
  }
  const read = async (reader: number) => {
    for await (const _ of inSlices(records(), new Lane(`tenant ${reader % 5}`))) if (signal.aborted) break;
  };
  const readers = Array.from({ length: 100 }, (_, reader) => read(reader));
  await setImmediate();
  const turns: number[] = [];
  for (let turn = 0; turn < 20; turn += 1) {
    const before = items;
    await setImmediate();
    turns.push(items - before);
  }
  over.abort();
  await Promise.all(readers);
  // A turn has five milliseconds, and each reader whose item takes it over them is the last one.
  expect(Math.max(...turns)).toBeLessThan(20);
});
