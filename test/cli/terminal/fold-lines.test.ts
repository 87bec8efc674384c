import { spawnSync } from "node:child_process";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { firstLine, foldLine, foldLines } from "../../../src/cli/terminal/fold-lines.ts";
import { cellsOf } from "../../../src/cli/terminal/one-line.ts";

const cells = (line: string) => Array.from(line).reduce((sum, character) => sum + cellsOf(character), 0);

test("a line is broken between words, and what follows is indented", () => {
  expect(foldLines(["call 1: shop.refund with one input waits for approval"], 30)).toEqual([
    "call 1: shop.refund with",
    "  one input waits for",
    "  approval",
  ]);
  expect(foldLines(["  printed by a program, and long"], 28)).toEqual(["  printed by a program,", "    and long"]);
});

test("JSON is broken behind its punctuation, and a word only if no line can hold it", () => {
  expect(foldLines([`{"orders":[{"id":"A-1"},{"id":"A-2"}],"total":2}`], 32)).toEqual([
    `{"orders":[{"id":"A-1"},`,
    `  {"id":"A-2"}],"total":2}`,
  ]);
  expect(foldLines(["x".repeat(30)], 24)).toEqual(["x".repeat(21), `  ${"x".repeat(9)}`]);
});

test("a line that fits stays, and so does every line where there is no terminal", () => {
  const line = `  ${"word ".repeat(5)}`;
  expect(foldLines([line, "", "a\nb"], 40)).toEqual([line, "", "a", "b"]);
  expect(foldLines([line.repeat(50)], undefined)).toEqual([line.repeat(50)]);
});

test("a part of a line has whole words, and says that there is more", () => {
  expect(firstLine("1 call made, 1 open, 3 MiB returned by tools", 24)).toBe("1 call made, 1 open, …");
  expect(firstLine("1 call made", 24)).toBe("1 call made");
  expect(firstLine("1 call made, 1 open, 3 MiB returned by tools", undefined)).toContain("tools");
});

test("no text is lost, no line is wider than the terminal, and no word that fits is broken", () => {
  const words = fc.array(fc.string({ maxLength: 12, unit: fc.constantFrom("a", "漢", ",", "}", "-") }), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(words, fc.integer({ min: 20, max: 60 }), (parts, room) => {
      const line = parts.join(" ");
      const folded = foldLine(line, room);
      expect(folded.join("")).toBe(line);
      for (const part of folded) expect(cells(part)).toBeLessThanOrEqual(room);
      // A break within a word of letters is behind punctuation, or the word fills its line.
      for (const [index, part] of folded.slice(0, -1).entries())
        if (!/[ ,}]$/.test(part))
          expect(cells(part) + cells(Array.from(folded[index + 1] ?? "")[0] ?? "")).toBeGreaterThan(room);
    }),
  );
});

test("a command is broken between its arguments, in lines that a shell reads as one", () => {
  const command = String.raw`portcullis decide 0198c7c1-90ab-7cde-8f01-23456789abcd 'call '\''1  of 2' --allow --journal ./work.db`;
  const folded = [24, 40, 60].map((columns) => {
    const lines = foldLines([`  ${command}`], columns);
    expect(lines.length).toBeGreaterThan(1);
    if (columns >= 40) for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
    return lines.join("\n");
  });
  const script = `portcullis() { printf '%s|' "$@"; echo; }\n${[command, ...folded].join("\n")}`;
  const read = spawnSync("sh", ["-c", script], { encoding: "utf8" }).stdout.trimEnd().split("\n");
  expect(read).toEqual(Array.from({ length: 4 }, () => expect.stringContaining("call '1  of 2|--allow|") as string));
  expect(new Set(read).size).toBe(1);
});
