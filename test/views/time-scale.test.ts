import * as fc from "fast-check";
import { expect, test } from "vitest";
import { timeScale } from "../../src/views/time-scale.ts";
import type { CallView } from "../../src/views/view.ts";

const call = (at: number, ms: number | undefined, more: Partial<CallView> = {}) =>
  ({ at, ...(ms === undefined ? {} : { ms }), state: "value", started: true, ...more }) as CallView;
const allowed = (at: number) => ({ decision: { decision: "allowed", at } as const });

test("without waits, places are in proportion to time, and the axis has round times", () => {
  const scale = timeScale({ from: 1000, until: 3000, calls: [call(1000, 900)], ticks: 8 });
  expect([1000, 1500, 2000, 3000, 9000, 0].map(scale.place)).toEqual([0, 0.25, 0.5, 1, 1, 0]);
  expect(scale.ticks.map(({ text }) => text)).toEqual(["0", "500 ms", "1 s", "1.5 s", "2 s"]);
  expect(scale.pauses).toEqual([]);
});

test("a long wait for a person is drawn shorter, and says how long it was", () => {
  const hour = 3_600_000;
  const calls = [call(0, 500), call(500, hour + 400, allowed(hour + 500))];
  const scale = timeScale({ from: 0, until: hour + 1000, calls, ticks: 8 });
  expect(scale.pauses).toEqual([{ from: 500, until: hour + 500, text: "1 h" }]);
  expect(scale.place(500)).toBeCloseTo(0.44);
  expect(scale.place(hour + 500)).toBeCloseTo(0.56);
  expect(scale.ticks.length).toBeLessThan(20);
  expect(scale.ticks.every(({ share }) => share < 0.441 || share > 0.559)).toBe(true);
});

test("a wait beside which another call runs is drawn as long as it was", () => {
  const calls = [call(0, 10_000), call(0, 9000, allowed(8000))];
  expect(timeScale({ from: 0, until: 10_000, calls, ticks: 8 }).pauses).toEqual([]);
});

test("the time in which no host had the execution is drawn shorter", () => {
  const events = [{ type: "claim", text: "", at: 100_000 }];
  const scale = timeScale({ from: 0, until: 101_000, calls: [call(0, 1000), call(100_000, 900)], events, ticks: 8 });
  expect(scale.pauses.map(({ text }) => text)).toEqual(["1 min 39 s"]);
});

test("whatever the calls, places rise with time from 0 to 1, and the axis has few times", () => {
  const time = fc.integer({ min: 0, max: 1e9 });
  const any = fc.record({
    at: time,
    ms: fc.option(time, { nil: undefined }),
    decided: fc.option(time, { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(any), fc.array(time), fc.array(time), time, (all, claims, times, length) => {
      const calls = all.map(({ at, ms, decided }) => call(at, ms, decided === undefined ? {} : allowed(decided)));
      const events = claims.map((at) => ({ type: "claim", text: "", at }));
      const { place, ticks } = timeScale({ from: 0, until: length, calls, events, ticks: 8 });
      const places = times.toSorted((a, b) => a - b).map(place);
      for (const [index, share] of places.entries()) {
        expect(share).toBeGreaterThanOrEqual(places[index - 1] ?? 0);
        expect(share).toBeLessThanOrEqual(1);
      }
      expect(place(0)).toBe(0);
      expect(place(Math.max(1, length))).toBeCloseTo(1);
      expect(ticks.length).toBeLessThanOrEqual(18);
    }),
  );
});
