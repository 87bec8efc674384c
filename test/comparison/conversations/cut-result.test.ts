import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cutText, cutValue } from "../../../src/comparison/conversations/cut-result.ts";
import { countTokens } from "../../../src/tools/count-tokens.ts";

const count = (text: string) => countTokens(text);

describe("cutting results", () => {
  test("a text of no more tokens than allowed is left as it is", () => {
    const text = "word ".repeat(100);
    expect(cutText(text, count(text), count)).toBe(text);
  });

  test("a longer one has as many tokens as allowed, and says that it was cut", () => {
    const cut = cutText(JSON.stringify(Array.from({ length: 5000 }, (_, id) => ({ id }))), 200, count);
    expect(cut).toMatch(/… \[cut\]$/);
    expect(count(cut.replace(/… \[cut\]$/, ""))).toBeLessThanOrEqual(200);
    expect(count(cut)).toBeGreaterThan(190);
  });

  test("the rest of a shortened value is unknown", () => {
    const value = { rows: [{ id: 1 }, { id: 2 }, { id: 3 }], total: 3 };
    expect(cutValue(value, 20)).toEqual({ rows: [{ id: 1 }, {}] });
    expect(cutValue("abcdefgh", 6)).toBe("abcde");
  });

  test.each([
    ["a\\b", 3, "a"],
    ["a\\b", 4, "a\\"],
    ["a\\\\u0", 6, "a\\\\"],
    ["a\u0001b", 5, "a"],
    ["a\u0001b", 8, "a\u0001"],
    ['a"b', 3, "a"],
    ['a"b', 4, 'a"'],
  ])("a text is cut between characters, however they are written: %j at %d", (value, length, left) => {
    expect(cutValue(value, length)).toBe(left);
  });

  test("a shortened value is the beginning of its text with brackets closed, and the whole text if it fits", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat({ max: 200 }), (value, length) => {
        const text = JSON.stringify(value);
        const plain: unknown = JSON.parse(text);
        expect(cutValue(plain, text.length)).toEqual(plain);
        const left = JSON.stringify(cutValue(plain, length)).replace(/["\]}]*$/, "");
        if (left !== "null") expect(text.startsWith(left)).toBe(true);
        expect(left.length).toBeLessThanOrEqual(Math.max(length, "null".length));
      }),
    );
  });
});
