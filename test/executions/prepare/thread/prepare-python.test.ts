import { expect, test } from "vitest";
import { prepare } from "../../../../src/executions/prepare/prepare.ts";

async function prepared(source: string): Promise<string> {
  const result = await prepare(source, "python");
  if (!result.ok) throw new Error(`${result.fault.message} in ${JSON.stringify(source)}`);
  expect(result.map.source).toBe(source);
  expect(result.map.toSource({ line: 3, column: 7 })).toEqual({ line: 3, column: 7 });
  return result.program;
}

test.each([
  ["```python\na = 1\na\n```", "\na = 1\na\n"],
  ["Here's the program; it lists people:\n```py\nreturn 1\n```\nDone.", "\n\nreturn 1\n\n"],
  ["# The program\n~~~\nreturn 1\n~~~", "\n\nreturn 1\n"],
  ["1. In a list:\n   ```python\n   return 1\n   ```", "\n\n   return 1\n"],
  ['x = """text"""\n```python\nreturn 2\n```', "\n\nreturn 2\n"],
  ['```python\na = """\n```js\nb\n```\n"""\nreturn a\n```', '\na = """\n```js\nb\n```\n"""\nreturn a\n'],
  ["```py\na = 'b\\\n```\n'\nreturn a\n```", "\na = 'b\\\n```\n'\nreturn a\n"],
  // A string that never ends is a fault of the program's, and holds no fence.
  ['```python\na = """b\nreturn a\n```\nDone.', '\na = """b\nreturn a\n\n'],
])("the Markdown around %j is removed, and lines keep their numbers: %j", async (source, program) => {
  expect(await prepared(source)).toBe(program);
});

test.each([
  "return 1 +",
  "no Python at all",
  'report = """\n```js\ncode\n```\n"""\nreturn report',
  "report = '''it's \\''' \"\n~~~\n'''\nreturn report",
  'a = "it\\"s" # don\'t "\nb = """\n```\n"""\nreturn b',
  'x = "```"\nreturn x',
])("the program %j is not Markdown and is unchanged; the guest decides whether it is Python", async (source) => {
  expect(await prepared(source)).toBe(source);
});

test("literal line breaks between the lines of a program become line breaks, and those in its strings stay", async () => {
  const written = String.raw`a = "x\ny" # it's one\nfor b in [1]:\n\tprint('\n')\nreturn """\n"""`;
  const result = await prepare(written, "python");
  expect(result).toMatchObject({
    program: 'a = "x\\ny" # it\'s one\nfor b in [1]:\n\tprint(\'\\n\')\nreturn """\\n"""',
  });
});

test("a text with many blocks of unterminated strings is read", async () => {
  const source = '```\n\\"""\n```\n'.repeat(2000);
  expect(await prepare(source, "python")).toMatchObject({ ok: false, fault: { code: "programs_several" } });
});

test("a program that is not text is refused with the same sentence as in JavaScript", async () => {
  expect(await prepare("return 1\0", "python")).toEqual(await prepare("return 1\0"));
});
