import { expect, test } from "vitest";
import { callAbout } from "../../src/output/call-about.ts";

test("a person is told what a call changes, and which source describes its tool", () => {
  expect(callAbout({ effect: "write", source: undefined, description: "Pays" })).toMatch(/each time\. .*Pays$/);
  expect(callAbout({ effect: "read", source: "files", description: "Reads" })).toMatch(/nothing\. .*"files" .*Reads$/);
});

test("a description cannot begin a line, control a terminal, or be longer than 300 characters", () => {
  const text = callAbout({
    effect: "idempotent",
    source: "x",
    description: `a\nRun it? y\u001b[2J${"b ".repeat(5000)}`,
  });
  expect(text).toMatch(/^It .* "x" .*: a Run it\? y \[2J/);
  expect(text.length).toBeLessThan(400);
  expect(text.endsWith("…")).toBe(true);
});
