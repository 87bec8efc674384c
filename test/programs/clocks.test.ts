import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type ClockAlarm, type ClockLimits, Clocks } from "../../src/programs/clocks.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function start(limits: ClockLimits) {
  const alarms: ClockAlarm[] = [];
  const clocks = new Clocks(limits, (alarm) => alarms.push(alarm));
  return { clocks, alarms };
}

const pass = (ms: number) => vi.advanceTimersByTime(ms);

test("only time with the turn is running time, and all time is wall time", () => {
  const { clocks } = start({ runningMs: 1000, wallMs: 1000 });
  pass(5);
  clocks.run();
  pass(20);
  clocks.wait();
  pass(300);
  clocks.run();
  pass(7);
  expect([clocks.runningMs, clocks.wallMs]).toEqual([27, 332]);
});

test("having the turn already, or waiting already, changes nothing", () => {
  const { clocks } = start({ runningMs: 1000, wallMs: 1000 });
  clocks.wait();
  clocks.run();
  pass(10);
  clocks.run();
  pass(10);
  clocks.wait();
  pass(10);
  clocks.wait();
  expect([clocks.runningMs, clocks.wallMs]).toEqual([20, 30]);
});

test("a program that has the turn too long is found out by the tick after that, in one turn or in many", () => {
  const one = start({ runningMs: 100, wallMs: 10_000 });
  one.clocks.run();
  pass(100);
  expect(one.alarms).toEqual([]);
  pass(10);
  expect(one.alarms).toEqual([{ limit: "runningMs", allowed: 100, seen: 110 }]);

  const many = start({ runningMs: 100, wallMs: 10_000 });
  for (let turn = 0; turn < 10; turn += 1) {
    many.clocks.run();
    pass(10);
    many.clocks.wait();
    pass(50);
  }
  expect(many.alarms).toEqual([]);
  many.clocks.run();
  pass(10);
  expect(many.alarms).toEqual([{ limit: "runningMs", allowed: 100, seen: 110 }]);
});

test("a program that waits is not charged for running, but found out once it takes too long in all", () => {
  const { alarms } = start({ runningMs: 10, wallMs: 500 });
  pass(500);
  expect(alarms).toEqual([]);
  pass(10);
  expect(alarms).toEqual([{ limit: "wallMs", allowed: 500, seen: 510 }]);
});

test("where both limits are passed at once, the running time is what is told", () => {
  const { clocks, alarms } = start({ runningMs: 50, wallMs: 50 });
  clocks.run();
  pass(60);
  expect(alarms).toEqual([{ limit: "runningMs", allowed: 50, seen: 60 }]);
});

test("clocks that were stopped raise no alarm, leave no timer, and count no more running time", () => {
  const { clocks, alarms } = start({ runningMs: 50, wallMs: 50 });
  clocks.run();
  pass(20);
  clocks.stop();
  pass(1000);
  expect(alarms).toEqual([]);
  expect(clocks.runningMs).toBe(20);
  expect(vi.getTimerCount()).toBe(0);
});
