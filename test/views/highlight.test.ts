import * as fc from "fast-check";
import { expect, test } from "vitest";
import { highlight } from "../../src/views/highlight.ts";

const pieces = fc.array(
  fc.oneof(
    fc.string(),
    fc.constantFrom("//", "/*", "*/", "`", '"', "'", "\\", "\n", "/", "#", '"""', "await", "tools", "12e3", "[", "é"),
  ),
);

test("colouring loses no character and adds none, in any source", () => {
  fc.assert(
    fc.property(pieces, fc.constantFrom("javascript", "python"), (parts, language) => {
      const source = parts.join("");
      const lines = highlight(source, language).map((line) => line.map(({ text }) => text).join(""));
      expect(lines.join("\n")).toBe(source);
    }),
  );
});

test("comments, texts, numbers, keywords and tools are told apart", () => {
  const kinds = (source: string, language = "javascript") =>
    highlight(source, language).flatMap((line) =>
      line.filter(({ kind }) => kind !== "").map(({ kind, text }) => `${kind} ${text}`),
    );
  expect(kinds("const a = await tools.x(1, 'b'); // c")).toEqual([
    "keyword const",
    "keyword await",
    "tools tools",
    "number 1",
    "string 'b'",
    "comment // c",
  ]);
  expect(kinds("a / b / /[/]c/.test(d)")).toEqual(["string /[/]c/"]);
  expect(kinds('x = """a\nb""" # c', "python")).toEqual(['string """a', 'string b"""', "comment # c"]);
});

test("a comment and a template go on over lines, a text only after a backslash", () => {
  const kinds = (source: string) => highlight(source, "javascript").map((line) => line.map(({ kind }) => kind).join());
  expect(kinds("/* a\nb */ 1\n`a\nb` 1")).toEqual(["comment", "comment,,number", "string", "string,,number"]);
  expect(kinds('"a\\\nb" 1\n"a\n1')).toEqual(["string", "string,,number", "string", "number"]);
});
