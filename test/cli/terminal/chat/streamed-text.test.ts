import * as fc from "fast-check";
import { expect, test } from "vitest";
import { cellsOf, laidOut, StreamCleaner, TextLayout } from "../../../../src/cli/terminal/chat/streamed-text.ts";
import { cleanText } from "../../../../src/output/clean-text.ts";
import { anyCharacter } from "../../../support/any-character.ts";

const characters = fc.constantFrom(
  "\u001b",
  "[2J",
  "\r",
  "\n",
  "\u{1f600}",
  "\ud83d",
  "\ude00",
  "\ufe0f",
  "\u202e",
  "a",
  " ",
  "é",
  "日",
);
const pieces = fc.array(
  fc.oneof(
    characters,
    fc.string({ unit: anyCharacter }),
    characters.map((text) => text.slice(0, 1)),
  ),
);

test("text in pieces is cleaned as the whole, wherever it is cut", () => {
  fc.assert(
    fc.property(pieces, (parts) => {
      const cleaner = new StreamCleaner();
      const cleaned = parts.map((part) => cleaner.add(part)).join("") + cleaner.end();
      expect(cleaned).toBe(cleanText(parts.join("")));
    }),
  );
});

test("a sequence of a terminal gains nothing by being split, and one character is held at most", () => {
  const cleaner = new StreamCleaner();
  expect(Array.from("\u001b[2J", (one) => cleaner.add(one)).join("")).toBe(String.raw`\u001b[2J`);
  expect([cleaner.add("a\r"), cleaner.add("\nb"), cleaner.add("\ud83d"), cleaner.add("\ude00")]).toEqual([
    "a",
    "\nb",
    "",
    "\u{1f600}",
  ]);
});

test("no line of a text begins at the left edge or is wider than the terminal, and no word of it is lost", () => {
  fc.assert(
    fc.property(pieces, fc.integer({ min: 30, max: 60 }), (parts, columns) => {
      const cleaner = new StreamCleaner();
      const layout = new TextLayout(() => columns, "  ");
      const cleaned = parts.map((part) => cleaner.add(part));
      cleaned.push(cleaner.end());
      const out = cleaned.map((part) => layout.add(part)).join("") + layout.end();
      for (const line of out.split("\n")) {
        if (line.trim() !== "") expect(line.startsWith("  ")).toBe(true);
        expect(Array.from(line).reduce((cells, one) => cells + cellsOf(one), 0)).toBeLessThanOrEqual(columns);
      }
      expect(out.replaceAll(/\s/g, "")).toBe(cleaned.join("").replaceAll(/\s/g, ""));
    }),
  );
});

test("a text is broken between words, and a word that is longer than a line within it", () => {
  const layout = new TextLayout(() => 33, "  ");
  const out = layout.add(`one ${"x".repeat(25)} three\n\n${"y".repeat(40)}`) + layout.end();
  expect(out.split("\n")).toEqual([
    `  one ${"x".repeat(25)}`,
    "  three",
    "",
    `  ${"y".repeat(30)}`,
    `  ${"y".repeat(10)}`,
    "",
  ]);
});

test("a whole text is laid out without spaces at the ends of its lines, and steers nothing", () => {
  expect(laidOut(`${"word ".repeat(6)}\n\u001b[2J \n`, 24)).toBe("word word word word\nword word\n\\u001b[2J");
});
