import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readMarkdown } from "../../../src/agent/files/frontmatter.ts";
import { PortcullisError } from "../../../src/index.ts";

const KNOWN = ["name", "description", "tools"];
const read = (source: string) => readMarkdown("a.md", source, KNOWN);
const fieldsOf = (lines: string) =>
  Object.fromEntries([...read(`---\n${lines}\n---\ntext`).fields].map(([name, { value }]) => [name, value]));

test("fields stand between two lines of hyphens, and the text below them", () => {
  const file = read("\ufeff---\r\nname: reviewer\r\n# a comment\r\n\r\ntools: a, b\r\n---\r\nFirst.\r\nSecond.\r\n");
  expect([...file.fields]).toEqual([
    ["name", { value: "reviewer", line: 2 }],
    ["tools", { value: "a, b", line: 5 }],
  ]);
  expect([file.text, file.textLine]).toEqual(["First.\nSecond.\n", 7]);
  expect(read("No fields: here\n---\n")).toMatchObject({
    fields: new Map(),
    text: "No fields: here\n---\n",
    textLine: 1,
  });
});

describe("a value is", () => {
  test.each([
    [
      "plain text, with colons and quotes in it",
      'name: Use it when: "now" isn\'t late',
      { name: 'Use it when: "now" isn\'t late' },
    ],
    ["text in double quotes", String.raw`name: "a: \"b\" # c\n"`, { name: 'a: "b" # c\n' }],
    ["text in single quotes", "name: 'it''s # 1'", { name: "it's # 1" }],
    ["empty text in quotes", "name: ''", { name: "" }],
    ["a list in one line", 'tools: [a, "b.*", c ]', { tools: ["a", "b.*", "c"] }],
    ["an empty list", "tools: []", { tools: [] }],
    ["a list below, indented or not", "tools:\n  - a\n\n- 'b'\nname: x", { tools: ["a", "b"], name: "x" }],
    ["a text below, line by line", "description: |\n  one\n\n  two\nname: x", { description: "one\n\ntwo", name: "x" }],
    ["a text below, as one line", "description: >-\n  one\n  two\n", { description: "one two" }],
  ])("%s", (_, lines, fields) => {
    expect(fieldsOf(lines)).toEqual(fields);
  });
});

test.each([
  ["---\nname: a\n", "a.md:1: the fields have no end"],
  ["---\nname: a\nname: b\n---", "a.md:3: name stands twice, first in line 2."],
  [
    "---\nnames: a\n---",
    'a.md:2: there is no field "names", did you mean name? The fields are name, description, tools.',
  ],
  ["---\n__proto__: a\n---", "a.md:2: expected a field"],
  ["---\nconstructor: a\n---", 'a.md:2: there is no field "constructor"'],
  ["---\nname:a\n---", "a.md:2: expected a field"],
  ["---\nname a\n---", "a.md:2: expected a field"],
  ["---\n: a\n---", "a.md:2: expected a field"],
  ["---\nname: a\n  more of it\n---", "a.md:3: expected a field"],
  ["---\nname:\n---", "a.md:2: name has no value"],
  ["---\ndescription: |\nname: a\n---", "a.md:2: description has no text below it"],
  ["---\ntools: [a\n---", "a.md:2: tools: the list has no ]"],
  ["---\ntools: [a,,b]\n---", "a.md:2: tools has an empty item"],
  ["---\ntools:\n  - a\n  -\n---", "a.md:4: tools has an empty item"],
  ['---\nname: "a\n---', "a.md:2: name: the quotes do not close"],
  [
    String.raw`---${"\n"}name: "\q"${"\n"}---`,
    "a.md:2: name: the quotes do not close at the end of the line, or hold an escape",
  ],
  ["---\nname: 'a' b\n---", "a.md:2: name: the quotes do not close"],
  ["---\nname: a # b\n---", "a.md:2: name: write the value in quotes"],
  ...["{a: b}", "&a b", "*a", "!!str a", "%a", "@a", "`a`", "#a"].map((value): [string, string] => [
    `---\nname: ${value}\n---`,
    "a.md:2: name: write the value in quotes",
  ]),
])("%j is refused with its line", (source, message) => {
  expect(() => read(source)).toThrow(PortcullisError);
  expect(() => read(source)).toThrow(message);
});

test("whatever a file holds, it is read or refused with a place in it", () => {
  const line = fc.string({
    unit: fc.constantFrom("name", ":", " ", "-", "'", '"', "|", "[", "]", "\n", "---\n", "#", "x"),
    maxLength: 40,
  });
  fc.assert(
    fc.property(line, (text) => {
      try {
        read(`---\n${text}`);
      } catch (error) {
        expect(error).toMatchObject({
          code: "option_invalid",
          message: expect.stringMatching(/^a\.md:\d+: /) as string,
        });
      }
    }),
  );
});
