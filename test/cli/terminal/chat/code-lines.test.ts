import { stripVTControlCharacters } from "node:util";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { CodeLines, colouredLines } from "../../../../src/cli/terminal/chat/code-lines.ts";
import { cleanText } from "../../../../src/output/clean-text.ts";

const plain = (lines: readonly string[]) => lines.map((line) => stripVTControlCharacters(line));

test("a program that is written in pieces has the lines and colours of the whole", () => {
  const source = "/* a\n b */ const x = `1\n2`;\nreturn tools.x(1); // end";
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: source.length })), (cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), source.length];
      const code = new CodeLines("javascript");
      for (const [index, place] of places.entries()) {
        code.add(source.slice(place, places[index + 1]));
        code.tail(10, 70);
      }
      expect(code.tail(10, 70)).toEqual({ lines: colouredLines(source, "javascript", 70), before: 0 });
    }),
  );
});

test("the last lines are shown, as many as fit, and the earlier ones are counted", () => {
  const code = new CodeLines("javascript");
  for (let line = 1; line <= 1000; line += 1) code.add(`line${line}\n`);
  code.add("x".repeat(25));
  const { lines, before } = code.tail(4, 10);
  expect([plain(lines), before, code.count]).toEqual([
    ["line1000", "x".repeat(10), "x".repeat(10), "xxxxx"],
    999,
    1001,
  ]);
});

test("what is held is bounded, in lines and in characters of a line", () => {
  const code = new CodeLines("javascript");
  for (let piece = 0; piece < 100; piece += 1) code.add("z".repeat(1000));
  const { lines } = code.tail(1000, 80);
  expect(plain(lines).join("")).toBe(`${"z".repeat(1999)}…`);
  for (let line = 0; line < 1000; line += 1) code.add("\n1");
  expect(code.tail(5000, 80).lines.length).toBeLessThan(300);
});

test("a program's text cannot steer the terminal: only its colours do", () => {
  const foreign = "// \u001b[2J\u202e\u009b1A\n'\u001b]0;x\u0007'";
  const lines = colouredLines(foreign, "javascript", 200);
  expect(plain(lines).join("\n")).toBe(cleanText(foreign));
  expect(lines.join("").replaceAll(/\u001b\[[\d;]*m/g, "")).not.toContain("\u001b");
});
