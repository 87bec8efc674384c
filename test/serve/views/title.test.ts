import { expect, test } from "vitest";
import type { Header } from "../../../src/journal/record.ts";
import { titleOf } from "../../../src/serve/views/title.ts";

const program = (source: string, tools: readonly string[] = []) =>
  titleOf({ kind: "program", source, tools: tools.map((name) => ({ name })) } as unknown as Header);

test.each([
  ["// Mean delay by state\nreturn 1;", "Mean delay by state"],
  ["\n\n  /** Mean delay\n   * by state.\n   * It takes long. */\nreturn 1;", "Mean delay"],
  ["/* One. */ const x = 1; // Two", "One."],
  ["#!/usr/bin/env node\n// @ts-check\n// ----\n// Mean delay\nreturn 1;", "Mean delay"],
  ['"""Mean delay\nby state"""\nimport json', "Mean delay"],
  ["'''\nMean delay\n'''\nimport json", "Mean delay"],
  ["# Mean delay\n\n# Another comment", "Mean delay"],
])("a program is called by the comment at its head: %j", (source, title) => {
  expect(program(source, ["crm.find"])).toBe(title);
});

test("without a comment at its head, a program is called by the tools that it names, in their order", () => {
  const source =
    "const a = await tools.b.two({});\n// not at the head\nawait tools.a.one({}); await tools.c({}); await tools.d({});";
  expect(program(source, ["a.one", "b.two", "c", "d", "e"])).toBe("b.two, a.one, c and 1 more");
  expect(program(source, ["c"])).toBe("c");
});

test("without tools it is called by its first line, and there is a word for a program without one", () => {
  expect(program("\n  const  a\t= 1;\nreturn a;", ["crm.find"])).toBe("const a = 1;");
  expect(program(" \n")).toBe("An empty program");
});

test("a conversation is called by the first line of its task, or by its model, and a call by its tool", () => {
  const task = (text: string) => titleOf({ kind: "conversation", task: text, model: "opus" } as unknown as Header);
  expect(task("\n How many\torders? \nBe quick.")).toBe("How many orders?");
  expect(task("")).toBe("Conversation with opus");
  expect(titleOf({ kind: "conversation", task: "", model: "opus" } as unknown as Header, "\nAnd now?")).toBe(
    "And now?",
  );
  expect(titleOf({ kind: "call", tool: "crm.find" } as unknown as Header)).toBe("crm.find");
});

test("a title is one short line, whatever the text: it is cut between words, and no character is cut", () => {
  const title = program(`// ${"word ".repeat(1000)}`);
  expect(title).toMatch(/^(word ){10,}word…$/);
  expect(title.length).toBeLessThanOrEqual(120);
  const wide = program(`// ${"😀".repeat(5000)}x`);
  expect(wide.isWellFormed()).toBe(true);
  expect(program(`return "${"😀".repeat(5000)}";`).isWellFormed()).toBe(true);
  expect(program(`${"\n".repeat(100_000)}// late`)).toBe("An empty program");
});
