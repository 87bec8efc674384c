import { expect, test } from "vitest";
import { faultAt, onlyMention } from "../../src/programs/source-map.ts";

const FAULT = { name: "Error", message: "No." };

test("a fault gets its place and that line, without what is round it", () => {
  expect(faultAt("a\n  \tb(c); \r\nd", FAULT, { line: 2, column: 4 })).toEqual({
    ...FAULT,
    line: 2,
    column: 4,
    excerpt: "b(c);",
  });
});

test("a place that is not in the source is left out, and so is one that is not known", () => {
  expect(faultAt("a\nb", FAULT, { line: 3, column: 1 })).toEqual(FAULT);
  expect(faultAt("a\nb", FAULT, undefined)).toEqual(FAULT);
});

test("of a long line the first 160 characters are shown", () => {
  expect(faultAt("x".repeat(160), FAULT, { line: 1, column: 1 }).excerpt).toBe("x".repeat(160));
  expect(faultAt("x".repeat(161), FAULT, { line: 1, column: 1 }).excerpt).toBe(`${"x".repeat(159)}…`);
});

test.each([
  ["tools.a()", { line: 1, column: 1 }],
  ["const b = 1;\n  await tools.a({})", { line: 2, column: 9 }],
  ["tools.a(); tools.a()", undefined],
  ["tools.b()", undefined],
  ["", undefined],
])("in %j the one place where the tool `a` is named is %j", (source, place) => {
  expect(onlyMention(source, "a")).toEqual(place);
});

test("where no tool is known, no place is", () => {
  expect(onlyMention("tools.a()", undefined)).toBeUndefined();
});
