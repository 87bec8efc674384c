import * as fc from "fast-check";
import { expect, test } from "vitest";
import { StreamCleaner } from "../../../../src/cli/terminal/executions/conversation-lines.ts";
import { cleanText } from "../../../../src/base/texts.ts";
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
