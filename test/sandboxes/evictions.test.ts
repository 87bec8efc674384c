import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { beforeEach, expect, test } from "vitest";
import { type EvictionOptions, Evictions } from "../../src/sandboxes/evictions.ts";
import type { Offer } from "../../src/sandboxes/sandbox.ts";
import { type ManualClock, manualClock } from "../support/clock.ts";

let clock: ManualClock;
beforeEach(() => {
  clock = manualClock();
});

const pass = (ms: number) => clock.pass(ms);
const ANY = () => 1;

/** A program that may be replayed: it waits as long for its own tenant as for others. */
const cheap = (costMs = 0, earnedMs = 0): Offer => {
  const ms = costMs - earnedMs;
  return { ownMs: ms, othersMs: ms, lostMs: 10_000 };
};
function evictions(options: Partial<EvictionOptions<string>> = {}) {
  const due: string[] = [];
  let changes = 0;
  const made: Evictions<string> = new Evictions({
    evict: "needed",
    changeMs: 2,
    isShort: () => false,
    onDue: (place) => {
      made.withdraw(place);
      due.push(place);
    },
    onChange: () => (changes += 1),
    ...options,
  });
  return { made, due, changes: () => changes };
}

test("a place is taken only after its program has waited for as long as its replay and the change take, which is told", () => {
  const { made, changes } = evictions();
  made.offer("dear", "t", cheap(100));
  pass(101);
  expect(made.next("t", ANY)).toBeUndefined();
  pass(1);
  expect(changes()).toBe(1);
  expect(made.next("t", ANY)).toBe("dear");
});

test("while memory is short, programs give up their places one after the other, the longest waiting first", () => {
  let isShort = false;
  const { made, due } = evictions({ isShort: () => isShort });
  for (const place of ["a", "b", "c"]) made.offer(place, "t", cheap(1));
  pass(10_000);
  expect(due).toEqual([]);
  isShort = true;
  pass(500);
  expect(due).toEqual(["a"]);
  pass(50);
  expect(due).toEqual(["a", "b"]);
  isShort = false;
  pass(10_000);
  expect(due).toHaveLength(2);
});

test("nothing is given up where evictions are off, or after the end", () => {
  const off = evictions({ evict: "never", isShort: () => true });
  off.made.offer("a", "t", cheap());
  const over = evictions({ isShort: () => true });
  over.made.offer("a", "t", cheap());
  over.made.close();
  pass(10_000);
  for (const { made, due } of [off, over]) expect([made.next("t", ANY), made.size, due]).toEqual([undefined, 0, []]);
});

test("however programs wait and run, replays and changes take no more time than programs have waited", () => {
  const step = record({
    place: constantFrom("a", "b", "c"),
    does: constantFrom("wait", "run", "take"),
    costMs: integer({ min: 0, max: 500 }),
    ms: integer({ min: 0, max: 300 }),
  });
  assert(
    property(array(step, { maxLength: 60 }), (steps) => {
      const { made } = evictions();
      const programs = ["a", "b", "c"].map((name) => ({ name, costMs: 0 }));
      let waiting = 0;
      let waitedMs = 0;
      let spentMs = 0;
      const waits = new Set<string>();
      for (const { place, does, costMs, ms } of steps) {
        pass(ms);
        waitedMs += waiting * ms;
        const name = does === "take" ? made.next("t", ANY) : place;
        const program = programs.find((one) => one.name === name);
        if (!program) continue;
        if (does === "wait") {
          if (!waits.has(program.name)) waiting += 1;
          waits.add(program.name);
          program.costMs = costMs;
          made.offer(program.name, "t", cheap(costMs));
          continue;
        }
        if (does === "take") {
          // It waits on without its place.
          spentMs += 2 + program.costMs;
        } else if (waits.delete(program.name)) waiting -= 1;
        made.withdraw(program.name);
      }
      expect(spentMs).toBeLessThanOrEqual(waitedMs);
    }),
  );
});
