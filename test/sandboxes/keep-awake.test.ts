import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DueReply, keepAwake } from "../../src/sandboxes/keep-awake.ts";

const first = new DueReply();
const second = new DueReply();
let now = 0;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setImmediate"] });
  vi.spyOn(performance, "now").mockImplementation(() => now);
});

afterEach(() => {
  first.forget();
  second.forget();
  vi.runAllTimers();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Turns that the event loop is kept awake for. */
function turns(): number {
  let count = 0;
  for (; vi.getTimerCount() > 0 && count < 5; count += 1) vi.runOnlyPendingTimers();
  return count;
}

test("the event loop stays awake while one reply is due, but no longer than a tenth of a millisecond", () => {
  first.expect();
  keepAwake();
  expect(turns()).toBe(5);
  now += 0.2;
  vi.runOnlyPendingTimers();
  expect(vi.getTimerCount()).toBe(0);
});

test("the event loop may sleep once the reply has come", () => {
  first.expect();
  keepAwake();
  first.forget();
  expect(turns()).toBe(1);
});

test("the event loop may sleep while replies of several guests are due, however often each was sent something", () => {
  first.expect();
  first.expect();
  second.expect();
  keepAwake();
  expect(vi.getTimerCount()).toBe(0);
  second.forget();
  second.forget();
  keepAwake();
  expect(turns()).toBe(5);
  second.expect();
  vi.runOnlyPendingTimers();
  expect(vi.getTimerCount()).toBe(0);
});
