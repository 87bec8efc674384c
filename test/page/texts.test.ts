import * as fc from "fast-check";
import { expect, test } from "vitest";
import { highlight } from "../../page/highlight.ts";
import { prettyJson } from "../../page/pretty-json.ts";
import { routeOf } from "../../page/route.ts";

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

test("JSON over several lines is the same JSON, and nothing but white space between its parts changes", () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const pretty = prettyJson(text);
      expect(JSON.parse(pretty)).toEqual(JSON.parse(text));
    }),
  );
  expect(prettyJson('{"a":1.0,"a":12345678901234567890}')).toBe('{\n  "a": 1.0,\n  "a": 12345678901234567890\n}');
  expect(prettyJson("[".repeat(100_000)).length).toBeLessThan(100_000 * 50);
});

test("every address leads to a screen, also one that is no address of the page", () => {
  expect(routeOf("#/execution/a%2Fb")).toEqual({ screen: "execution", execution: "a/b" });
  expect(routeOf("#/compare/a/b")).toEqual({ screen: "compare", one: "a", other: "b" });
  fc.assert(
    fc.property(fc.string(), (hash) => {
      expect(routeOf(`#${hash}`).screen).toMatch(/list|execution|compare/);
    }),
  );
});
