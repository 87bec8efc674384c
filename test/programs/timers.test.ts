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
    timers.beginTurn();
    for (const [id, ms] of [
      [1, 60],
      [2, 20],
      [3, 40],
      [4, 20],
    ] as const)
      timers.set({ id, ms });
    timers.endTurn();
  });
  expect(fired).toEqual([2, 4, 3, 1]);
});

test("timers of many turns fire when they are due, one that is due sooner before those set earlier", () => {
  const fired: number[] = [];
  const timers = new Timers((id) => fired.push(id));
  const set = (id: number, ms: number) => {
    timers.beginTurn();
    timers.set({ id, ms });
    timers.endTurn();
  };
  set(1, 50);
  vi.advanceTimersByTime(10);
  set(2, 20);
  set(3, 0);
  vi.advanceTimersByTime(19);
  expect(fired).toEqual([3]);
  vi.advanceTimersByTime(1);
  expect(fired).toEqual([3, 2]);
  vi.advanceTimersByTime(19);
  expect(fired).toEqual([3, 2]);
  vi.advanceTimersByTime(1);
  expect(fired).toEqual([3, 2, 1]);
});

test("a timer that is set while another fires is no part of what is due then", () => {
  const fired: number[] = [];
  const timers = new Timers((id) => {
    fired.push(id);
    if (id < 3) timers.set({ id: id + 1, ms: 5 });
  });
  timers.set({ id: 1, ms: 5 });
  timers.beginTurn();
  timers.endTurn();
  for (const expected of [[1], [1, 2], [1, 2, 3]]) {
    vi.advanceTimersByTime(5);
    expect(fired).toEqual(expected);
  }
});

test("no timer of a turn fires before all of that turn are set, and those that are due by then fire in order", () => {
  const fired: number[] = [];
  const timers = new Timers((id) => fired.push(id));
  timers.beginTurn();
  timers.set({ id: 1, ms: 50 });
  vi.advanceTimersByTime(100);
  timers.set({ id: 2, ms: 20 });
  timers.set({ id: 3, ms: 180 });
  expect(fired).toEqual([]);
  timers.endTurn();
  expect(fired).toEqual([2, 1]);
  vi.advanceTimersByTime(80);
  expect(fired).toEqual([2, 1, 3]);
});

test("a timer that is cleared does not fire, whether its turn is over or not, and neither do others when all are", () => {
  const fired = firedBy((timers) => {
    timers.beginTurn();
    for (const id of [1, 2, 3]) timers.set({ id, ms: id });
    timers.clear(1);
    vi.advanceTimersByTime(10);
    timers.endTurn();
    timers.beginTurn();
    timers.set({ id: 4, ms: 1 });
    timers.set({ id: 5, ms: 1 });
    timers.endTurn();
    timers.clear(4);
    timers.clear(99);
  });
  expect(fired).toEqual([2, 3, 5]);
  expect(
    firedBy((timers) => {
      timers.beginTurn();
      timers.set({ id: 1, ms: 1 });
      vi.advanceTimersByTime(10);
      timers.clearAll();
      timers.endTurn();
    }),
  ).toEqual([]);
});

test("a hundred thousand timers that are set and cleared leave nothing behind, and the one that is not fires", () => {
  const fired = firedBy((timers) => {
    timers.beginTurn();
    timers.set({ id: 0, ms: 500_000 });
    for (let id = 1; id <= 100_000; id += 1) {
      timers.set({ id, ms: 400_000 });
      timers.clear(id);
      expect(timers.queued).toBeLessThan(2000);
    }
    timers.endTurn();
  });
  expect(fired).toEqual([0]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a delay beyond node's longest is waited for in parts", () => {
  const fired: number[] = [];
  const timers = new Timers((id) => fired.push(id));
  timers.beginTurn();
  timers.set({ id: 1, ms: 2 ** 31 + 1000 });
  timers.endTurn();
  vi.advanceTimersByTime(2 ** 31);
  expect(fired).toEqual([]);
  vi.advanceTimersByTime(1000);
  expect(fired).toEqual([1]);
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
