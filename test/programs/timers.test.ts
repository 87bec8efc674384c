import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createRuntime } from "../../src/index.ts";
import { Timers } from "../../src/programs/timers.ts";
import { createMemorySandbox } from "../../src/testing.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function firedBy(use: (timers: Timers) => void): number[] {
  const fired: number[] = [];
  use(new Timers((id) => fired.push(id)));
  vi.advanceTimersByTime(1_000_000);
  return fired;
}

test("timers of one turn fire once each, in the order of their times, and of their ids where the times are equal", () => {
  const fired = firedBy((timers) => {
    const batch = timers.batch();
    for (const [id, ms] of [
      [1, 60],
      [2, 20],
      [3, 40],
      [4, 20],
    ] as const)
      batch.arm({ id, ms });
    batch.end();
  });
  expect(fired).toEqual([2, 4, 3, 1]);
});

test("no timer of a turn fires before all of that turn are armed, and those that are due by then fire in order", () => {
  const fired: number[] = [];
  const timers = new Timers((id) => fired.push(id));
  const batch = timers.batch();
  batch.arm({ id: 1, ms: 50 });
  vi.advanceTimersByTime(100);
  batch.arm({ id: 2, ms: 20 });
  batch.arm({ id: 3, ms: 80 });
  expect(fired).toEqual([]);
  batch.end();
  expect(fired).toEqual([2, 1]);
  vi.advanceTimersByTime(80);
  expect(fired).toEqual([2, 1, 3]);
});

test("a timer that is cleared does not fire, whether its turn is over or not, and neither do others when all are", () => {
  const fired = firedBy((timers) => {
    const batch = timers.batch();
    for (const id of [1, 2, 3]) batch.arm({ id, ms: id });
    timers.clear(1);
    vi.advanceTimersByTime(10);
    batch.end();
    const next = timers.batch();
    next.arm({ id: 4, ms: 1 });
    next.arm({ id: 5, ms: 1 });
    next.end();
    timers.clear(4);
    timers.clear(99);
  });
  expect(fired).toEqual([2, 3, 5]);
  expect(
    firedBy((timers) => {
      const batch = timers.batch();
      batch.arm({ id: 1, ms: 1 });
      vi.advanceTimersByTime(10);
      timers.clearAll();
      batch.end();
    }),
  ).toEqual([]);
});

test("timers that were set together fire in the order of their times, however long arming takes", async () => {
  vi.useRealTimers();
  await using runtime = await createRuntime({ tools: [], sandbox: createMemorySandbox() });
  const { outcome, execution } = await runtime.execute(`
    const order = [];
    await new Promise((done) => {
      const nap = (ms) => setTimeout(() => order.push(ms) === 3 && done(), ms);
      nap(60);
      for (let n = 0; n < 40_000; n += 1) clearTimeout(setTimeout(() => {}, 1_000_000));
      nap(40);
      nap(20);
    });
    return order;
  `);
  expect(outcome).toEqual({ type: "completed", value: [20, 40, 60] });
  expect((await runtime.execution(execution).replay()).type).toBe("identical");
});
