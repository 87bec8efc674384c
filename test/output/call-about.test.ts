import { expect, test } from "vitest";
import { callAbout } from "../../src/output/call-about.ts";

test("a person is told what a call changes, and which source describes its tool", () => {
  expect(callAbout({ effect: "write", source: undefined, description: "Pays" })).toBe(
    "It changes something each time. Its description: Pays",
  );
  expect(callAbout({ effect: "read", source: "files", description: "Reads" })).toBe(
    'It changes nothing. Its source "files" says: Reads',
  );
});

test("a description cannot begin a line, control a terminal, or be longer than 300 characters", () => {
  const text = callAbout({
    effect: "idempotent",
    source: "x",
    description: `a\nRun it? y\u001b[2J${"b ".repeat(5000)}`,
  });
  expect(text).toMatch(
    /^It changes something; repeating it changes nothing more\. Its source "x" says: a Run it\? y \[2J/,
  );
  expect(text.length).toBeLessThan(400);
  expect(text.endsWith("…")).toBe(true);
});
