import { expect, test } from "vitest";
import { spansOf, ticksOf, timeOf, tookOf } from "../../../src/serve/views/timeline.ts";
import { callView } from "./call-view.ts";
import type { CallView } from "../../../src/serve/views/view.ts";

const call = (more: Partial<CallView>) => callView(1, { at: 100, ms: 50, ...more });
const decided = { decision: "allowed", at: 130 } as const;

test.each<[string, Partial<CallView>, readonly [string, number, number][]]>([
  ["a call that ran", {}, [["runs", 100, 150]]],
  [
    "a call that was approved, and ran then",
    { decision: decided },
    [
      ["waits", 100, 130],
      ["runs", 130, 150],
    ],
  ],
  ["a call that waits", { state: "waiting", ms: undefined, started: false }, [["waits", 100, 1000]]],
  ["a call that nothing here ran", { started: false }, [["waits", 100, 150]]],
  ["a call that was given up while it waited", { state: "aborted", started: false }, [["waits", 100, 150]]],
  ["a call that was given up while it ran", { state: "aborted" }, [["runs", 100, 150]]],
  [
    "a call that was refused at once",
    { state: "refused", detail: "input_invalid", ms: 0, started: false },
    [["runs", 100, 100]],
  ],
  [
    "a decision that a journal from elsewhere has before its call",
    { decision: { ...decided, at: 1 } },
    [["runs", 100, 150]],
  ],
])("%s is drawn as that", (_, more, spans) => {
  const drawn = spansOf(call(more), 1000).map(({ does, from, until }) => [does, from, until]);
  expect(drawn).toEqual(spans);
});

test("calls beside each other take their time once, and calls without an end take none that is known", () => {
  const open = call({ at: 0, ms: undefined, state: "open" });
  expect(tookOf([call({ at: 0, ms: 100 }), call({ at: 50, ms: 100 }), call({ at: 400, ms: 10 }), open])).toEqual({
    inAll: 160,
    each: 70,
  });
  expect(tookOf([call({ at: 20, ms: 10 }), call({ at: 0, ms: 100 })])?.inAll).toBe(100);
  expect(tookOf([open])).toBeUndefined();
  expect(tookOf([])).toBeUndefined();
});

test("the time of an execution goes on while it waits or is driven, and ends with its last record", () => {
  const view = { state: "ended", driven: false, startedAt: 5, lastAt: 20 } as const;
  expect(timeOf(view, 1000)).toEqual({ from: 5, until: 20 });
  expect(timeOf({ ...view, state: "waiting" }, 1000)).toEqual({ from: 5, until: 1000 });
  expect(timeOf({ ...view, state: "running", driven: true }, 1000)).toEqual({ from: 5, until: 1000 });
  expect(timeOf({ ...view, state: "running" }, 1000)).toEqual({ from: 5, until: 20 });
  // A clock that was set back.
  expect(timeOf({ ...view, lastAt: 0 }, 1000).until).toBeGreaterThan(5);
});

test.each([
  [12, 4, ["0", "5.0 ms", "10 ms"]],
  [26 * 3_600_000, 4, ["0", "12 h", "1 d"]],
  [400 * 24 * 3_600_000, 3, ["0", "200 d", "400 d"]],
])("a time of %i ms with at most %i marks has round ones", (ms, most, texts) => {
  const ticks = ticksOf({ from: 7, until: 7 + ms }, most);
  expect(ticks.map(({ text }) => text)).toEqual(texts);
  expect(ticks[0]?.at).toBe(7);
  expect(ticks.every(({ at }) => at <= 7 + ms)).toBe(true);
});
