import { expect, test } from "vitest";
import { Lane, type SlicedWork } from "../../../src/base/index.ts";
import { type LoopClock, SliceScheduler } from "../../../src/base/values/slice-scheduler.ts";
import { workingClock } from "../../support/clock.ts";
import { throws } from "../../support/failing.ts";

/** An event loop that turns when it is told to, on a clock that runs only while work is done. */
function steppedLoop() {
  let nowMs = 0;
  let nextTurn: (() => void)[] = [];
  const settled: (() => void)[] = [];
  const clock: LoopClock = {
    now: () => nowMs,
    nextTurn: (callback) => void nextTurn.push(callback),
    settled: (callback) => void settled.push(callback),
  };
  const settle = () => {
    for (let callback = settled.shift(); callback; callback = settled.shift()) callback();
  };
  return {
    scheduler: new SliceScheduler(clock),
    work: (ms: number) => void (nowMs += ms),
    /** Turns the loop once, and says how long that took; undefined where nothing waits for it. */
    turn: () => {
      if (nextTurn.length === 0) return undefined;
      const startMs = nowMs;
      const callbacks = nextTurn;
      nextTurn = [];
      for (const callback of callbacks) callback();
      settle();
      return nowMs - startMs;
    },
  };
}

/** Turns a loop until nothing is left to do; says how long its longest turn took. */
function longestTurnMs(loop: ReturnType<typeof steppedLoop>): number {
  let longestMs = 0;
  for (let ms = loop.turn(); ms !== undefined; ms = loop.turn()) longestMs = Math.max(longestMs, ms);
  return longestMs;
}

test.each([1, 24, 500])("the work of %d executions together holds the loop for one budget of time a turn", (count) => {
  const loop = steppedLoop();
  const done: number[] = [];
  for (let execution = 0; execution < count; execution += 1) {
    const lane = new Lane("one", loop.scheduler);
    for (let step = 0; step < 40; step += 1)
      void lane.run(() => {
        loop.work(0.2);
        done.push(execution);
      });
    function* long(): SlicedWork<void> {
      for (let step = 0; step < 100; step += 1) {
        loop.work(0.1);
        yield;
      }
      done.push(execution);
    }
    void lane.work(long());
  }
  expect(longestTurnMs(loop)).toBeLessThanOrEqual(6);
  expect(done).toHaveLength(count * 41);
});

test("steps that cannot be cut are one a turn, where each takes a turn's time", () => {
  const loop = steppedLoop();
  for (let execution = 0; execution < 12; execution += 1) void new Lane("one", loop.scheduler).run(() => loop.work(40));
  expect(longestTurnMs(loop)).toBe(40);
});

test("what slices set off counts as theirs", async () => {
  const scheduler = new SliceScheduler();
  const lane = new Lane("one", scheduler);
  const turns: number[] = [];
  let turn = 0;
  let watching = true;
  const count = () => {
    turn += 1;
    if (watching) setImmediate(count);
  };
  setImmediate(count);
  const { work } = workingClock();
  await lane.run(() => work(6));
  await Promise.all(
    Array.from({ length: 200 }, async () => {
      await lane.run(() => undefined);
      work(1);
      turns.push(turn);
    }),
  );
  watching = false;
  const most = Math.max(...turns.map((one) => turns.filter((other) => other === one).length));
  expect(turns).toHaveLength(200);
  expect(most).toBeLessThanOrEqual(32);
});

test("the flood of one tenant does not keep another's small work waiting", () => {
  const loop = steppedLoop();
  let flooded = 0;
  for (let execution = 0; execution < 100; execution += 1) {
    const lane = new Lane("flood", loop.scheduler);
    for (let step = 0; step < 100; step += 1)
      void lane.run(() => {
        loop.work(1);
        flooded += 1;
      });
  }
  const before = flooded;
  const other = new Lane("other", loop.scheduler);
  const seen: number[] = [];
  for (let step = 0; step < 10; step += 1)
    void other.run(() => {
      loop.work(1);
      seen.push(flooded - before);
    });
  longestTurnMs(loop);
  expect(flooded).toBe(10_000);
  // Turn and turn about: as much of the flood as of the other's.
  expect(seen.map((count, index) => count - index).every((ahead) => ahead <= 1)).toBe(true);
});

test("executions of one tenant are served in turn, and work within one in the order it came", () => {
  const loop = steppedLoop();
  const lanes = [new Lane("one", loop.scheduler), new Lane("one", loop.scheduler)];
  void lanes[0]?.run(() => loop.work(10));
  const order: string[] = [];
  for (const [index, lane] of lanes.entries())
    for (const step of [1, 2, 3])
      void lane.run(() => {
        loop.work(1);
        order.push(`${index}.${step}`);
      });
  longestTurnMs(loop);
  expect(order).toEqual(["0.1", "1.1", "0.2", "1.2", "0.3", "1.3"]);
});

test("work that fails rejects, begun at once or later, and the next is done", async () => {
  const loop = steppedLoop();
  const lane = new Lane("one", loop.scheduler);
  const failure = new Error("no");
  const fail = throws(failure);
  // eslint-disable-next-line require-yield
  function* failing(): SlicedWork<void> {
    fail();
  }
  expect(() => lane.run(fail)).toThrow(failure);
  expect(() => lane.work(failing())).toThrow(failure);
  // The time of this turn is spent: what follows begins in later ones.
  loop.work(6);
  const later = [lane.run(fail), lane.work(failing()), lane.run(() => 1)];
  while (loop.turn() !== undefined);
  expect(await Promise.allSettled(later.map((one) => Promise.resolve(one)))).toEqual([
    { status: "rejected", reason: failure },
    { status: "rejected", reason: failure },
    { status: "fulfilled", value: 1 },
  ]);
});
