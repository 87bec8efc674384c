import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Starts } from "../../src/places/starts.ts";
import { manualClock } from "../support/clock.ts";

test("in no span of time start more than the rate allows, each as soon as it may, those of a tenant in their order", async () => {
  const step = fc.record({
    afterMs: fc.nat(30),
    tenant: fc.constantFrom("a", "b", "c"),
    leavesAfterMs: fc.option(fc.nat(60), { nil: undefined }),
  });
  const rates = fc.record({ calls: fc.integer({ min: 1, max: 4 }), perMs: fc.integer({ min: 1, max: 50 }) });
  const clock = manualClock();
  await fc.assert(
    fc.asyncProperty(rates, fc.array(step, { maxLength: 30 }), async (rate, steps) => {
      const starts = new Starts(rate);
      const started: { readonly tenant: string; readonly number: number; readonly at: number }[] = [];
      let [left, number] = [0, 0];
      for (const { afterMs, tenant, leavesAfterMs } of steps) {
        await clock.advance(afterMs);
        const leaving = new AbortController();
        const own = (number += 1);
        starts.take(tenant, leaving.signal).then(
          () => started.push({ tenant, number: own, at: clock.monotonic() }),
          () => (left += 1),
        );
        if (leavesAfterMs !== undefined) clock.after(leavesAfterMs, () => leaving.abort());
      }
      await clock.advance(30 * 50 + 60);
      expect(started.length + left).toBe(steps.length);
      started.slice(rate.calls).forEach(({ at }, index) => {
        expect(at - (started[index]?.at ?? 0)).toBeGreaterThanOrEqual(rate.perMs);
      });
      for (const tenant of ["a", "b", "c"]) {
        const numbers = started.filter((one) => one.tenant === tenant).map((one) => one.number);
        expect(numbers).toEqual(numbers.toSorted((x, y) => x - y));
      }
      expect(clock.timers).toBe(0);
    }),
    { numRuns: 50 },
  );
});

test("tenants that wait start in turn, whatever they began with", async () => {
  const clock = manualClock();
  const starts = new Starts({ calls: 1, perMs: 10 });
  const { signal } = new AbortController();
  const started: string[] = [];
  for (const tenant of "aaaaaabbc") void starts.take(tenant, signal).then(() => started.push(tenant));
  await clock.advance(100);
  expect(started.join("")).toBe("aabcabaaa");
});

test("one whose signal is aborted leaves with its reason, and takes no start", async () => {
  const clock = manualClock();
  const starts = new Starts({ calls: 1, perMs: 10 });
  const leaving = new AbortController();
  await starts.take("a", leaving.signal);
  const waiting = starts.take("a", leaving.signal);
  leaving.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  await expect(starts.take("a", leaving.signal)).rejects.toThrow("gone");
  expect(clock.timers).toBe(0);
  clock.pass(10);
  await starts.take("b", new AbortController().signal);
});
