import * as fc from "fast-check";
import { expect, test } from "vitest";
import { firstOpen } from "../../page/parts/approvals/first-open.ts";
import { logPieces } from "../../page/parts/log-pieces.ts";
import { prettyJson } from "../../page/pretty-json.ts";
import { linkTo, routeOf } from "../../page/route.ts";
import { axisTexts } from "../../page/timeline/axis-texts.ts";
import { timeScale } from "../../src/views/time-scale.ts";
import type { CallView } from "../../src/views/view.ts";
import { visibleParts } from "../../page/visible-text.ts";
import { anyCharacter } from "../support/any-character.ts";

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

test("any id has an address, also one that is no text of Unicode", () => {
  fc.assert(fc.property(fc.string({ unit: anyCharacter }), (id) => void linkTo("execution", id, `\ud800${id}`)));
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
  const one = logPieces(Array.from({ length: 50_000 }, (_, turn) => ({ turn, stream: "stdout", text: "x\n" })));
  expect(one).toEqual([{ stream: "stdout", text: "x\n".repeat(50_000) }]);
  const logs = Array.from({ length: 50_000 }, (_, turn) => ({
    turn,
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

test("whatever the calls, no two texts of an axis overlap, no time stands in a pause, and none beyond the axis", () => {
  const time = fc.integer({ min: 0, max: 100_000 });
  const any = fc.record({ at: time, ms: time, decided: fc.option(time, { nil: undefined }) });
  const call = ({ at, ms, decided }: { at: number; ms: number; decided: number | undefined }) => {
    const decision = decided === undefined ? {} : { decision: { decision: "allowed", at: decided } };
    return { at, ms, state: "value", started: true, ...decision } as CallView;
  };
  const waited = Array.from({ length: 4 }, (_, n) => ({ at: n * 30_000, ms: 30_000, decided: n * 30_000 + 29_000 }));
  fc.assert(
    fc.property(fc.oneof(fc.array(any), fc.constant(waited)), fc.integer({ min: 200, max: 1200 }), (all, width) => {
      const calls = all.map(call);
      const scale = timeScale({ from: 0, until: 200_000, calls, ticks: Math.floor(width / 64) });
      const texts = axisTexts(scale, width).toSorted((a, b) => a.from - b.from);
      for (const [index, { from, until, isPause }] of texts.entries()) {
        expect(from).toBeGreaterThanOrEqual(texts[index - 1]?.until ?? 0);
        expect(until).toBeLessThanOrEqual(width);
        for (const pause of isPause ? [] : scale.pauses)
          expect(from >= scale.place(pause.until) * width || until <= scale.place(pause.from) * width).toBe(true);
      }
    }),
  );
});
