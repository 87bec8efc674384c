import { expect, test } from "vitest";
import { prepare } from "../../../src/programs/prepare/prepare.ts";

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
  ["return 1\n```", "return 1\n"],
  ['x = """text"""\n```python\nreturn 2\n```', "\n\nreturn 2\n"],
  ["```python\r\nreturn 1\r\n```\r\n", "\nreturn 1\r\n\n"],
  ['```python\na = """\n```js\nb\n```\n"""\nreturn a\n```', '\na = """\n```js\nb\n```\n"""\nreturn a\n'],
  [
    "```\na = '''it\\'''s \"\n```\n''' # don't\nreturn a\n```\nDone.",
    "\na = '''it\\'''s \"\n```\n''' # don't\nreturn a\n\n",
  ],
  ["```py\na = 'b\\\n```\n'\nreturn a\n```", "\na = 'b\\\n```\n'\nreturn a\n"],
  // A string that never ends is a fault of the program's, and holds no fence.
  ['```python\na = """b\nreturn a\n```\nDone.', '\na = """b\nreturn a\n\n'],
])("the Markdown round %j goes, and every line stays where it was: %j", async (source, program) => {
  expect(await prepared(source)).toBe(program);
});

test.each([
  "return 1 +",
  "no Python at all",
  'report = """\n```js\ncode\n```\n"""\nreturn report',
  "report = '''it's \\''' \"\n~~~\n'''\nreturn report",
  'a = "it\\"s" # don\'t "\nb = """\n```\n"""\nreturn b',
  'x = "```"\nreturn x',
  '"""never closed\n```\n',
])(
  "the program %j is no Markdown, and stays as it is: whether it is Python is for the guest to say",
  async (source) => {
    expect(await prepared(source)).toBe(source);
  },
);

test.each(["", " \n", "```python\n```", "```\n\n```\n"])("an empty program is refused (program %#)", async (source) => {
  expect(await prepare(source, "python")).toMatchObject({ ok: false, fault: { code: "program_empty" } });
});

test("however many blocks have strings that never end, they are read", async () => {
  const source = '```\n\\"""\n```\n'.repeat(2000);
  expect(await prepare(source, "python")).toMatchObject({ ok: false, fault: { code: "programs_several" } });
});

test("what is no text is refused in the same words as in any language", async () => {
  expect(await prepare("return 1\0", "python")).toEqual(await prepare("return 1\0"));
});

test("what is no line break for Python is none in the text that faults are shown in", async () => {
  const prepared = await prepare("a = '\u2028'\nreturn b", "python");
  expect(prepared).toMatchObject({ program: "a = '\u2028'\nreturn b", map: { source: "a = ' '\nreturn b" } });
});
