import { parse } from "acorn";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { linesOf, LineStarts, offsetOf, placeAt } from "../../../src/programs/guest/source-lines.ts";
import { onlyMention } from "../../../src/programs/guest/source-map.ts";

const texts = fc.string({
  unit: fc.constantFrom("a", " ", "ü", "😀", "\n", "\r", "\r\n", "\u2028", "\u2029"),
  maxLength: 30,
});

test("the place of each offset is in a line of the text, and leads back to the offset", () => {
  fc.assert(
    fc.property(texts, (text) => {
      const lines = linesOf(text);
      for (let offset = 0; offset <= text.length; offset += 1) {
        const place = placeAt(text, offset);
        expect(offsetOf(text, place)).toBe(offset);
        const rest = lines[place.line - 1]?.slice(place.column - 1) ?? "";
        expect(text.slice(offset).startsWith(rest)).toBe(true);
      }
      expect(placeAt(text, text.length).line).toBe(lines.length);
    }),
  );
});

test("lines and columns are those of acorn", () => {
  fc.assert(
    fc.property(texts, (text) => {
      const before = text.replaceAll(/[^\s]/gu, " ");
      const [statement] = parse(`${before}x`, { ecmaVersion: "latest", locations: true }).body;
      const { line = 0, column = 0 } = statement?.loc?.start ?? {};
      expect(placeAt(`${before}x`, before.length)).toEqual({ line, column: column + 1 });
    }),
  );
});

test("a place after the text is the end of the text", () => {
  expect(offsetOf("a\nb", { line: 9, column: 4 })).toBe(3);
  expect(offsetOf("a\nb", { line: 2, column: 4 })).toBe(3);
});

test("lines may be those of a parser that has fewer ends of lines", () => {
  expect(new LineStarts("a\u2028b\nc", /\n/g).placeAt(2)).toEqual({ line: 1, column: 3 });
});

test.each(["\n", "\r", "\r\n", "\u2028", "\u2029"])(
  "after %j the only mention of a tool is in the next line",
  (end) => {
    expect(onlyMention(`const a = "x";${end}await tools.t(1);`, "t")).toEqual({ line: 2, column: 7 });
  },
);
