import { expect, test } from "vitest";
import { after, cancel, deadline, every, monotonic, nextTurn, now, pause } from "../../src/base/index.ts";
import { realClock, replaceClock } from "../../src/base/clock.ts";

test("a timer is due after its time and not again, an interval after each of its times, until they are cancelled", async () => {
  const told = Promise.withResolvers<string>();
  cancel(after(0, () => told.resolve("a timer that was cancelled")));
  cancel(every(1, () => told.resolve("an interval that was cancelled")));
  let count = 0;
  using _ = every(1, () => {
    count += 1;
    if (count === 3) told.resolve("three times");
  });
  expect(await told.promise).toBe("three times");
  const once = Promise.withResolvers<void>();
  after(20, once.resolve);
  await once.promise;
});

test("a time that node cannot count is a long time, and one that is over is none", async () => {
  const late = Promise.withResolvers<string>();
  const far = [2 ** 31, Number.POSITIVE_INFINITY].map((ms) => after(ms, () => late.resolve("far too early")));
  const warned: unknown[] = [];
  const onWarning = (warning: unknown) => warned.push(warning);
  process.on("warning", onWarning);
  after(-1, () => late.resolve("at once"));
  expect(await late.promise).toBe("at once");
  far.forEach(cancel);
  await nextTurn();
  process.off("warning", onWarning);
  expect(warned).toEqual([]);
});

test("a pause ends after its time, or with its signal", async () => {
  await pause(20);
  const left = new AbortController();
  const paused = pause(60_000, { signal: left.signal });
  left.abort();
  await paused;
  await pause(60_000, { signal: left.signal });
});

test("a deadline aborts with the error of a timeout, also of a signal that only another signal holds", async () => {
  const signal = AbortSignal.any([new AbortController().signal, deadline(20)]);
  const aborted = Promise.withResolvers<unknown>();
  signal.addEventListener("abort", () => aborted.resolve(signal.reason), { once: true });
  expect(await aborted.promise).toMatchObject({ name: "TimeoutError" });
});

test("a clock that replaces it is that of all modules, and timers that are set stay with their clock", async () => {
  const due = Promise.withResolvers<string>();
  using _ = after(1, () => due.resolve("the real clock"));
  const read = () => [now(), monotonic()];
  using replaced = replaceClock({ ...realClock, now: () => 1, monotonic: () => 2 });
  expect(read()).toEqual([1, 2]);
  expect(await due.promise).toBe("the real clock");
  replaced[Symbol.dispose]();
  expect(read()).not.toEqual([1, 2]);
});
