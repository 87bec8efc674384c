import { expect, test } from "vitest";
import { faultAt, onlyMention } from "../../../src/programs/guest/source-map.ts";

const FAULT = { name: "Error", message: "No." };

test("a fault gets its place and the line of the source, without the code around the program", () => {
  expect(faultAt("a\n  \tb(c); \r\nd", FAULT, { line: 2, column: 4 })).toEqual({
    ...FAULT,
    line: 2,
    column: 4,
    excerpt: "b(c);",
  });
});

test("a place outside of the source, or an unknown one, is left out", () => {
  expect(faultAt("a\nb", FAULT, { line: 3, column: 1 })).toEqual(FAULT);
  expect(faultAt("a\nb", FAULT, undefined)).toEqual(FAULT);
});

test("the first 160 characters of a long line are shown", () => {
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

test("without a known tool there is no place", () => {
  expect(onlyMention("tools.a()", undefined)).toBeUndefined();
});
