import { expect, test } from "vitest";
import { Timers } from "../../../src/executions/drive/program-timers.ts";
import { manualClock } from "../../support/clock.ts";

/** Timers of a program of which the driver knows which are open. */
class Driven {
  readonly clock = manualClock();
  readonly fired: number[] = [];
  readonly #open = new Map<number, unknown>();
  readonly timers = new Timers(this.#open, (id) => {
    this.fired.push(id);
    this.#open.delete(id);
    this.onFire(id);
  });
  onFire: (id: number) => void = () => {};

  /** Sets the timers of one turn, given as ids and delays. */
  turn(...set: readonly (readonly [id: number, ms: number])[]): void {
    this.timers.beginTurn();
    for (const [id, ms] of set) this.set(id, ms);
    this.timers.endTurn();
  }

  set(id: number, ms: number): void {
    this.open(id, ms);
    this.timers.set({ id, ms });
  }

  /** Set by an earlier driver. */
  open(id: number, ms: number): void {
    this.#open.set(id, ms);
  }

  clear(id: number): void {
    this.#open.delete(id);
    this.timers.noteCleared();
  }
}

test("no timer of a turn fires before all of that turn are set, and those that are due by then fire in order", () => {
  const driven = new Driven();
  driven.timers.beginTurn();
  driven.set(1, 50);
  driven.clock.pass(100);
  driven.set(2, 20);
  driven.set(3, 180);
  expect(driven.fired).toEqual([]);
  driven.timers.endTurn();
  expect(driven.fired).toEqual([2, 1]);
  driven.clock.pass(80);
  expect(driven.fired).toEqual([2, 1, 3]);
});

test("a timer that is cleared does not fire, whether its turn is over or not, and neither do others when all are", () => {
  const driven = new Driven();
  driven.timers.beginTurn();
  for (const id of [1, 2, 3]) driven.set(id, id);
  driven.clear(1);
  driven.clock.pass(10);
  driven.timers.endTurn();
  driven.turn([4, 1], [5, 1]);
  driven.clear(4);
  driven.clear(99);
  driven.clock.pass(1_000_000);
  expect(driven.fired).toEqual([2, 3, 5]);

  driven.timers.beginTurn();
  driven.set(6, 1);
  driven.clock.pass(10);
  driven.timers.clearAll();
  driven.timers.endTurn();
  driven.clock.pass(1_000_000);
  expect(driven.fired).toEqual([2, 3, 5]);
});

test("a hundred thousand timers that are set and cleared leave nothing behind, and the one that is not fires", () => {
  const driven = new Driven();
  driven.timers.beginTurn();
  driven.set(0, 500_000);
  let most = 0;
  for (let id = 1; id <= 100_000; id += 1) {
    driven.set(id, 400_000);
    driven.clear(id);
    most = Math.max(most, driven.timers.queued);
  }
  driven.timers.endTurn();
  expect(most).toBeLessThan(2000);
  driven.clock.pass(1_000_000);
  expect(driven.fired).toEqual([0]);
  expect(driven.clock.timers).toBe(0);
});

test("a delay beyond node's longest is waited for in parts", () => {
  const driven = new Driven();
  driven.turn([1, 2 ** 31 + 1000]);
  driven.clock.pass(2 ** 31);
  expect(driven.fired).toEqual([]);
  driven.clock.pass(1000);
  expect(driven.fired).toEqual([1]);
});

test("timers of an earlier driver fire after what is left of their times, and after their whole times if its clock was ahead", () => {
  const later = new Driven();
  const now = later.clock.now();
  const open = [
    { id: 1, ms: 50, setAt: now - 20 },
    { id: 2, ms: 40, setAt: now + 600_000 },
    { id: 3, ms: 10, setAt: now - 600_000 },
  ];
  for (const { id, ms } of open) later.open(id, ms);
  later.timers.beginTurn();
  later.timers.continue(open);
  later.timers.endTurn();
  later.clock.pass(29);
  expect(later.fired).toEqual([3]);
  later.clock.pass(11);
  expect(later.fired).toEqual([3, 1, 2]);
});
