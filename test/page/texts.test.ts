import * as fc from "fast-check";
import { expect, test } from "vitest";
import { firstOpen } from "../../page/parts/approvals/first-open.ts";
import { logPieces } from "../../page/parts/log-pieces.ts";
import { prettyJson } from "../../page/pretty-json.ts";
import { routeOf } from "../../page/route.ts";
import { axisTexts } from "../../page/timeline/axis-texts.ts";
import { ticksOf } from "../../src/serve/views/timeline.ts";
import { visibleParts } from "../../page/visible-text.ts";

test("JSON over several lines is the same JSON, and nothing but white space between its parts changes", () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const pretty = prettyJson(text);
      expect(JSON.parse(pretty)).toEqual(JSON.parse(text));
    }),
  );
  expect(prettyJson('{"a":1.0,"a":12345678901234567890}')).toBe('{\n  "a": 1.0,\n  "a": 12345678901234567890\n}');
  const rows = '[{"a":[1,2],"b":{}},{"a":[]}]';
  expect(prettyJson(rows, 1)).toBe('[\n  {"a": [1, 2], "b": {}},\n  {"a": []}\n]');
  expect(prettyJson("[".repeat(100_000)).length).toBeLessThan(100_000 * 50);
});

test("every address leads to a screen, also one that is no address of the page", () => {
  expect(routeOf("#/execution/a%2Fb")).toEqual({ screen: "execution", execution: "a/b" });
  expect(routeOf("#/compare/a/b")).toEqual({ screen: "compare", one: "a", other: "b" });
  fc.assert(
    fc.property(fc.string(), (hash) => {
      expect(routeOf(`#${hash}`).screen).toMatch(/list|execution|compare/);
    }),
  );
});

test("a text of many invisible characters has a bounded number of marks, and nothing of it is left out", () => {
  for (const [character, shown] of [
    ["\u200b", "\\u200b"],
    ["\ud800", "\\ud800"],
  ] as const) {
    const parts = visibleParts(`a${character}`.repeat(50_000));
    expect(parts.length).toBeLessThan(2100);
    const text = parts.map((part) => part.text).join("");
    expect(text).toBe(`a${shown}`.repeat(50_000));
  }
});

test("printed texts are few pieces however many they were, and nothing of them is left out", () => {
  const streams = ["stdout", "stderr"] as const;
  const one = logPieces(Array.from({ length: 50_000 }, () => ({ stream: "stdout", text: "x\n" })));
  expect(one).toEqual([{ stream: "stdout", text: "x\n".repeat(50_000) }]);
  const logs = Array.from({ length: 50_000 }, (_, turn) => ({
    stream: streams[turn % 2] ?? "stdout",
    text: `${turn}\n`,
  }));
  const pieces = logPieces(logs);
  expect(pieces).toHaveLength(2000);
  expect(pieces.map(({ text }) => text).join("")).toBe(logs.map(({ text }) => text).join(""));
});

test("of thousands of calls that wait the first are shown to be decided, and what was decided stays in its place", () => {
  const all = Array.from({ length: 10_000 }, (_, id) => ({ id: String(id) }));
  const ids = (open: ReadonlySet<string>) => firstOpen(all, open).shown.map(({ id }) => Number(id));
  const open = new Set(all.map(({ id }) => id));
  expect(ids(open)).toEqual(Array.from({ length: 50 }, (_, id) => id));
  expect(firstOpen(all, open).left).toBe(9950);
  open.delete("3");
  expect(ids(open)).toEqual(Array.from({ length: 51 }, (_, id) => id));
});

test("whatever the time, no two texts of an axis overlap, and none is beyond it", () => {
  const times = fc.integer({ min: 1, max: 1e9 });
  fc.assert(
    fc.property(times, fc.integer({ min: 200, max: 1200 }), (until, width) => {
      const texts = axisTexts(ticksOf({ from: 0, until }, Math.floor(width / 64)), width);
      expect(texts[0]?.text).toBe("0");
      for (const [index, { from, until: end }] of texts.entries()) {
        expect(from).toBeGreaterThanOrEqual(texts[index - 1]?.until ?? 0);
        expect(end).toBeLessThanOrEqual(width);
      }
    }),
  );
});
