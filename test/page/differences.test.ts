import { expect, test } from "vitest";
import { firstDifference, measuresOf } from "../../page/screens/differences.ts";
import { callView } from "../serve/views/call-view.ts";
import type { CallView, ProgramView } from "../../src/serve/views/view.ts";

const call = (id: number, changes: Partial<CallView> = {}) =>
  callView(id, { at: 0, ms: 10, result: { text: "1", bytes: 1 }, bytes: 1, ...changes });

const view = (calls: readonly CallView[], changes: Partial<ProgramView> = {}) =>
  ({
    source: "return 1;",
    state: "ended",
    outcome: { type: "completed" },
    startedAt: 0,
    lastAt: 100,
    calls,
    limits: [],
    funnel: { fetched: { bytes: 10, tokens: 1 } },
    ...changes,
  }) as unknown as ProgramView;

const ANSWER = "Both make call 2 to rows with the same input, but get different answers.";

test.each([
  [
    "another tool",
    call(2, { tool: "other" }),
    "The programs make different calls from call 2 on: A calls rows, and B calls other.",
  ],
  [
    "another input",
    call(2, { input: { text: "[]", bytes: 2 } }),
    "Both make call 2 to rows, but with different inputs.",
  ],
  ["another answer", call(2, { result: { text: "2", bytes: 1 } }), ANSWER],
  ["another end", call(2, { state: "failed" }), ANSWER],
])("two executions part at the first call with %s, and both calls are there", (_, other, text) => {
  const difference = firstDifference(view([call(1), call(2), call(3)]), view([call(1), other, call(3)]));
  expect(difference).toEqual({ text, calls: { text, number: 2, both: [call(2), other] } });
});

test("an execution that makes fewer calls parts where it ends, and equal ones do not part", () => {
  expect(firstDifference(view([call(1)]), view([]))).toMatchObject({ text: "Only A makes calls." });
  expect(firstDifference(view([call(1)]), view([call(1), call(2)])).text).toMatch(/call 1\. .*\bB\b/);
  expect(firstDifference(view([call(1)]), view([call(1)])).calls).toBeUndefined();
});

test("of two programs the first line that differs is told, also if one ends there", () => {
  const of = (one: string, other: string) =>
    firstDifference(view([], { source: one }), view([], { source: other })).sources;
  expect(of("a\nb\nc", "a\nx\nc")).toEqual({ line: 2, texts: ["b", "x"] });
  expect(of("a\nb", "a")).toEqual({ line: 2, texts: ["b", undefined] });
  expect(of("a", "a")).toBeUndefined();
});

test("measures tell how the second differs from the first, by amount and share", () => {
  const measures = measuresOf(
    view([call(1)], { lastAt: 100 }),
    view([call(1), call(2)], { lastAt: 150, outcome: { type: "failed" } }),
  );
  const of = (name: string) => measures.find((measure) => measure.name === name);
  expect(of("outcome")).toMatchObject({ texts: ["completed", "failed"], difference: "differs" });
  expect(of("time")).toMatchObject({ texts: ["100 ms", "150 ms"], difference: "+50 ms (+50\u00a0%)", isLarge: true });
  expect(of("rows: calls")).toMatchObject({ texts: ["1", "2"], difference: "+1 (+100\u00a0%)" });
  expect(of("returned by tools")).toMatchObject({ difference: "", isLarge: false });
  // The calls are at the same time.
  expect(of("rows: time")).toMatchObject({ texts: ["10 ms", "10 ms"] });
  // Neither was given anything.
  expect(of("given to the model")).toBeUndefined();
});
