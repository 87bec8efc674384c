import { beforeEach, expect, test } from "vitest";
import { NEWS_MS } from "../../../src/gate/streams/stream-news.ts";
import { StreamTeller } from "../../../src/gate/streams/stream-teller.ts";
import { type ManualClock, manualClock } from "../../support/clock.ts";

let clock: ManualClock;
beforeEach(() => {
  clock = manualClock();
});

function telling() {
  const given = { items: 0, bytes: 0 };
  const told: number[] = [];
  const teller = new StreamTeller(
    undefined,
    () => ({ ...given }),
    () => told.push(given.items),
  );
  const give = (items: number) => {
    given.items += items;
    teller.tell();
  };
  return { give, given, teller, told };
}

test("the first batch is told at once, and those that follow soon after together", () => {
  const { give, told } = telling();
  give(10);
  give(10);
  give(10);
  expect(told).toEqual([10]);
  clock.pass(NEWS_MS);
  expect(told).toEqual([10, 30]);
  clock.pass(10 * NEWS_MS);
  expect(told).toEqual([10, 30]);
});

test("what was not told is known at the end, once", () => {
  const { give, given, teller, told } = telling();
  give(10);
  expect(teller.takeLast({ ...given })).toBeUndefined();
  give(5);
  expect(teller.takeLast({ ...given })).toEqual({ items: 15, bytes: 0 });
  expect(teller.takeLast({ ...given })).toBeUndefined();
  teller.end();
  expect(clock.timers).toBe(0);
  expect(told).toEqual([10]);
});
