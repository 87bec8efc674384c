import { beforeEach, expect, test } from "vitest";
import { after, cancel, deadline, every, monotonic, nextTurn, now, pause } from "../../src/clock.ts";
import { type ManualClock, manualClock } from "./clock.ts";

test("timers run in the order in which they are due, at their times, and those set meanwhile among them", async () => {
  const clock = manualClock(1_000_000);
  const ran: string[] = [];
  const note = (name: string) => () => void ran.push(`${name} ${now() - 1_000_000}`);
  after(30, note("last"));
  after(10, () => {
    note("first")();
    void Promise.resolve().then(() => after(10, note("set meanwhile")));
  });
  const repeated = every(15, note("again"));
  cancel(after(12, note("cancelled")));
  await clock.advance(29);
  expect(ran).toEqual(["first 10", "again 15", "set meanwhile 20"]);
  cancel(repeated);
  await clock.advance(1);
  expect(ran.at(-1)).toBe("last 30");
  expect(clock.timers).toBe(0);
});

test("time passes in one turn, and what timers begin goes on after it", async () => {
  const clock = manualClock();
  const ran: number[] = [];
  const since = monotonic();
  every(10, () => void Promise.resolve().then(() => ran.push(monotonic() - since)));
  clock.pass(30);
  expect(ran).toEqual([]);
  await clock.advance(0);
  expect(ran).toEqual([30, 30, 30]);
});

test("a busy thread runs its timers late, and an interval once", () => {
  const clock = manualClock();
  const since = monotonic();
  const ran: number[] = [];
  every(10, () => void ran.push(monotonic() - since));
  clock.block(95);
  clock.pass(10);
  expect(ran).toEqual([95, 105]);
});

test("the wall clock can be set, and no time passes", () => {
  const clock = manualClock(1000);
  const since = monotonic();
  using _ = after(1, () => {});
  clock.jump(-500);
  expect([now(), monotonic() - since, clock.timers]).toEqual([500, 0, 1]);
});

test("a timer that is begun anew is due after its whole time", () => {
  const clock = manualClock();
  let count = 0;
  const timer = after(10, () => void (count += 1));
  clock.pass(9);
  timer.refresh();
  clock.pass(9);
  expect(count).toBe(0);
  clock.pass(1);
  expect(count).toBe(1);
});

test("pauses and deadlines are on it", async () => {
  const clock = manualClock();
  const signal = deadline(1000);
  const paused = pause(1000);
  await clock.advance(999);
  expect(signal.aborted).toBe(false);
  await clock.advance(1);
  await paused;
  expect(signal.reason).toMatchObject({ name: "TimeoutError" });
});

const earlier = Promise.withResolvers<void>();
const goesOn = earlier.promise.then(() => after(1000, () => {}));
let ofAll: ManualClock;
beforeEach(() => {
  ofAll = manualClock();
});

test("the timers are counted of what a test begins, and none of what goes on in its process", async () => {
  earlier.resolve();
  using _ = await goesOn;
  expect(ofAll.timers).toBe(0);
  await nextTurn();
  const own = after(1000, () => {});
  expect(ofAll.timers).toBe(1);
  cancel(own);
  expect(ofAll.timers).toBe(0);
});

const left = Promise.withResolvers<string>();

test("what is set when a test ends is left to the real clock", () => {
  const clock = manualClock();
  cancel(after(5, () => left.resolve("cancelled")));
  after(60_000, () => left.resolve("due"));
  clock.pass(59_990);
});

test("and is due there", async () => {
  expect(await left.promise).toBe("due");
});
