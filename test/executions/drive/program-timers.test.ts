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
