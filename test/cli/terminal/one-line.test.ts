import * as fc from "fast-check";
import { expect, test } from "vitest";
import { foldLines, oneLine, table } from "../../../src/cli/terminal/standard-streams.ts";

const BREAKS = ["\n", "\r\n", "\r", "\t", "\v", "\f", "\u0085", "\u2028", "\u2029"];
const hostile = fc
  .array(fc.constantFrom(...BREAKS, "\u001b[2K\u001b[1A", "\b", "\u202e", "a", " "))
  .map((parts) => parts.join(""));
const BREAKS_OR_STEERS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202e]/;

test("any text becomes one line without control characters, and no cell of a table can add a row", () => {
  fc.assert(
    fc.property(hostile, (text) => {
      expect(oneLine(text)).not.toMatch(BREAKS_OR_STEERS);
      const lines = table(["a", "b"], [[text, "1"]]).split("\n");
      expect(lines).toHaveLength(3);
      expect(lines.filter((line) => BREAKS_OR_STEERS.test(line))).toEqual([]);
    }),
  );
  expect(oneLine("pay\n✓ call: read → object, 3 ms")).toBe("pay ✓ call: read → object, 3 ms");
});

test("the rest of a line that a terminal would break is deeper than any line of the command line, and nothing of it is lost", () => {
  const imitation = "  portcullis decide other 1 --allow";
  for (const columns of [20, 40, 80]) {
    const line = `call 1: pay with ${"x".repeat(columns)} ${imitation.repeat(3)} 支付 waits`;
    const [first, ...rest] = foldLines([line, "short"], columns);
    expect(line.startsWith(String(first))).toBe(true);
    expect(rest.pop()).toBe("short");
    for (const part of rest) expect(part).toMatch(/^ {6}/);
    const words = [first, ...rest].join("").replaceAll(/\s/g, "");
    expect(words).toBe(line.replaceAll(/\s/g, ""));
  }
  expect(foldLines(["x".repeat(500)], Number.POSITIVE_INFINITY)).toEqual(["x".repeat(500)]);
});
