import { type Options, parse, type Token } from "acorn";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { prepare } from "../../../src/executions/prepare/prepare.ts";
import { PROGRAM_BYTES } from "../../../src/executions/prepare/refuse-text.ts";
import type { SourceMap } from "../../../src/executions/guest/source-map.ts";
import { runs } from "../../support/all-tests.ts";

async function prepared(source: string): Promise<{ readonly program: string; readonly map: SourceMap }> {
  const result = await prepare(source);
  if (!result.ok) throw new Error(`${result.fault.message} in ${JSON.stringify(source)}`);
  return result;
}

test.each([
  ["return 1", "return 1"],
  ["const a = 1;\na", "const a = 1;\nreturn await (a\n);"],
  ["```js\nconst a = 1;\na\n```", "\nconst a = 1;\nreturn await (a\n);\n"],
  ["Here it is:\n```ts\nlet a: number = 1;\nreturn a\n```\nDone.", "\n\nlet a         = 1;\nreturn a\n\n"],
  ["async () => { return 1 }", "return await (async () => { return 1 }\n)(tools);"],
  ["async function main(t: Tools) {}", "async function main(t       ) {}\nreturn await main(tools);"],
  ["~~~\na\n~~~", "\nreturn await (a\n);\n"],
  ["```js\r\nreturn 1\r\n```\r\n", "\nreturn 1\r\n\n"],
  ["return 1\n```", "return 1\n"],
  [
    "export default async function main(t) { return 1 }",
    "               async function main(t) { return 1 }\nreturn await (main\n)(tools);",
  ],
  ["export default main\nasync function main() {}", "return         await (main\n)(tools)\nasync function main() {}"],
  ["export const main = async () => 1;", "       const main = async () => 1;\nreturn await main(tools);"],
  ["return async () => 1", "return await (async () => 1\n)(tools)"],
  [String.raw`const a = "x\ny";\r\n\t// one\nreturn a`, 'const a = "x\\ny";\n\t// one\nreturn a'],
  [String.raw`// one\nreturn 1`, "// one\nreturn 1"],
  ['{ "thought": "One call.", "code": "return tools.a({})\\n" }', "return tools.a({})\n"],
  ['{ "source": "return tools.a({})" }', "return tools.a({})"],
  [String.raw`"return \"x\" +\ntools.a({})"`, 'return "x" +\ntools.a({})'],
  ['"tools"', 'return await ("tools"\n);'],
  [
    String.raw`// a\n b
const a = "x\ny";\nreturn a;`,
    '// a\\n b\nconst a = "x\\ny";\nreturn a;',
  ],
  ['{ "code": "A-1", "total": 5 }', 'return { "code": "A-1", "total": 5 }'],
  [String.raw`const t = ${"`a\\nb`"}\nt`, "const t = `a\\nb`\nreturn await (t\n);"],
  ["async ({ tools }) => 1", "return await (async ({ tools }) => 1\n)({ tools });"],
  [
    "export default async function run({ tools, a } = {}) {}",
    "               async function run({ tools, a } = {}) {}\nreturn await (run\n)({ tools });",
  ],
  ["const f = ({ tools: t }) => 1", "const f = ({ tools: t }) => 1\nreturn await f({ tools });"],
  ["#!/usr/bin/env tsx\nreturn 1", "///usr/bin/env tsx\nreturn 1"],
  ["\ufeff#!/usr/bin/env tsx\nreturn 1", "///usr/bin/env tsx\nreturn 1"],
  ["\ufeff```js\n#!/usr/bin/env tsx\nreturn 1\n```", "\n///usr/bin/env tsx\nreturn 1\n"],
  ['\ufeff{ "code": "return tools.a({})" }', "return tools.a({})"],
  ["import { type A, type B as C } from './a';\nreturn 1", "                                         ;\nreturn 1"],
  [
    "({ tools, save, console, other }) => 1",
    "return await (({ tools, save, console, other }) => 1\n)({ tools, save, console });",
  ],
  ["import type { A } from './a';\nlet a: A = 1;\nreturn a", "                            ;\nlet a    = 1;\nreturn a"],
  ["const a = 1, b = 2;\n{ a, b }", "const a = 1, b = 2;\nreturn { a, b }"],
  ["const a = 1;\n{ a };", "const a = 1;\nreturn { a };"],
  ["const a: number = 1;\n{ a }", "const a         = 1;\nreturn { a }"],
  ["const a = 1;\n{ a: a }", "const a = 1;\nreturn { a: a }"],
  ['const a = 1;\n{\n  "a": a,\n  ...b,\n}\n', 'const a = 1;\nreturn {\n  "a": a,\n  ...b,\n}\n'],
  ["const a = 1;\n{ a: a, b: 2 }", "const a = 1;\nreturn { a: a, b: 2 }"],
])("the source %j becomes the program %j", async (source, program) => {
  expect((await prepared(source)).program).toBe(program);
});

test.each([
  "return '```'",
  "const a = b`c` ``; return a",
  "return `a\n\\`\\`\\`js\nb\n\\`\\`\\`\n`",
  "/*\n```js\nreturn 2\n```\n*/ return 1",
  "pay();\n// ```\nreturn 1",
  "return f(a <b, c> (d))",
  String.raw`return text.split(/\n/)`,
  String.raw`return "a\nb"`,
  "if (a)\n{ b }",
  "{ f() }",
  "{ a; b }",
  "for (;;)\n{ a, b }",
])("the program %j is no Markdown, and stays as it is", async (source) => {
  expect((await prepared(source)).program).toBe(source);
});

const sized = (bytes: number) => `return '${"é".repeat((bytes - 9) / 2)}'${bytes % 2 === 0 ? " " : ""}`;
const notText = (character: number) => ({
  code: "program_not_text",
  message: expect.stringContaining(`character ${character} `) as string,
});
const EMPTY = ["", "   ", "\n\t\r\n", "\u00a0\ufeff", "```js\n```", "```js\n\n```\n"];

test.each<[what: string, source: string, fault: object]>([
  ["several blocks", "First:\n```js\nreturn 1\n```\nthen:\n```ts\nreturn 2\n```\n", { code: "programs_several" }],
  ...EMPTY.map((source): [string, string, object] => ["nothing in it", source, { code: "program_empty" }]),
  ["an invalid first character that is named", "return 1\0", notText(9)],
  ["an invalid first character that is named", "\u001b[31m", notText(1)],
  ["an invalid first character that is named", "a\u0008", notText(2)],
  ["an invalid first character that is named", "return '\ufffd\ufffd\ufffd'", notText(9)],
  ["a byte more than 32 KiB", sized(PROGRAM_BYTES + 1), { code: "program_too_large" }],
  [
    "a fault behind prose and a fence, which has its place and its line in the source",
    "Here:\n```js\nconst a = 1;\n  const b = ;\n```",
    { name: "SyntaxError", code: "syntax", line: 4, column: 13, excerpt: "const b = ;" },
  ],
])("a program with %s is refused (%#)", async (_, source, fault) => {
  expect(await prepare(source)).toMatchObject({ ok: false, fault: { name: "ProgramError", ...fault } });
});

test("a program of exactly 32 KiB is read", async () => {
  expect(Buffer.byteLength(sized(PROGRAM_BYTES))).toBe(PROGRAM_BYTES);
  expect((await prepare(sized(PROGRAM_BYTES))).ok).toBe(true);
});

const PARSING: Options = {
  ecmaVersion: "latest",
  sourceType: "script",
  allowAwaitOutsideFunction: true,
  allowReturnOutsideFunction: true,
  locations: true,
};

const oneOf = (...texts: readonly string[]) => fc.constantFrom(...texts);

const STATEMENTS = oneOf(
  "const a = 1;",
  "let text = `x${`y${1}`}z\n  \\` second line`;",
  "const found = /[/\\]}`]+/giu.test('a');",
  "if (a) { return 0; } else { a.b?.[c] ?? d; }",
  "/* comment */ // another\n",
  "for (const x of [1, 2]) { await tools.crm.find({ id: x }); }",
  "function inner() { return () => 1 }",
  "'ü 😀' + \"漢\";",
  "label: { break label }",
);
const TYPED = oneOf(
  "const n: Map<string, number[]> = new Map<string, number[]>();",
  "interface Row { id: string; ü?: '😀漢' }",
  "type A<T> = T extends string ? 1 : 2;",
  "const f = <T,>(x: T, y?: number): T => x as T;",
  "const g = async (x: { a: string }): Promise<'ü'> => x!.a;",
);
const LAST = oneOf(
  "return a",
  "a",
  "a + b * (c)",
  "await tools.a({})",
  "[1, 2].map((x) => x * 2)",
  "({ a: 1,\n  b: `t${1}` })",
  "`a\n${b}`",
  "/re`/g.exec(s)",
  "x = 1",
  "(async () => {\n  return 1\n})()",
  "class A {}",
);
const ALONE = oneOf(
  "async () => { return 1 }",
  "(tools) => tools.a({ b: 1 })",
  "async function main(tools) {\n  return tools\n}",
  "function helper() {}\nasync function main() { return helper() }",
  "(function () { return 1 })",
);

const statements = fc.uniqueArray(fc.tuple(fc.oneof(STATEMENTS, TYPED), oneOf("\n", " ", "\r\n", "\n\n\t")), {
  selector: ([statement]) => statement,
  maxLength: 5,
});
const programs = fc.tuple(statements, LAST).map(([before, last]) => before.flat().join("") + last);

const sources = fc
  .tuple(
    oneOf("", "  ", "\n", "\t", "/* c */ "),
    fc.oneof({ weight: 4, arbitrary: programs }, { weight: 1, arbitrary: ALONE }),
    oneOf("", ";", "  ;", " // end", "\n// end", " /* end */", "; // end", "\n\n"),
    oneOf("", "```js\n", "~~~\n", "Here it is\n\n```typescript\n", "  ````\n"),
  )
  .map(
    ([indent, program, end, fence]) =>
      `${fence}${indent}${program}${end}${fence === "" ? "" : `\n${/[`~]+/.exec(fence)?.[0]}\nDone.`}`,
  );

const offsetOf = (source: string, line: number, column: number) =>
  source
    .split("\n")
    .slice(0, line - 1)
    .join("\n").length +
  (line === 1 ? 0 : 1) +
  column -
  1;

function tokensOf(program: string): Token[] {
  const tokens: Token[] = [];
  parse(program, { ...PARSING, onToken: tokens });
  return tokens.filter(({ end, start }) => end > start);
}

/**
 * What may be put into a program, in this order: a semicolon where a type stood, then the return. One of these may
 * happen to stand at the place it leads to.
 */
const PUT_IN = /^(?:; )*(?:return )?(?:await )?(?:\w+ )?(?:\( )?(?:\) )?(?:\( )?(?:tools )?(?:\) )?(?:; )?$/;

test("every token of a prepared program maps to the same token of the source, except inserted ones", async () => {
  await fc.assert(
    fc.asyncProperty(sources, async (source) => {
      const { program, map } = await prepared(source);
      const putIn = tokensOf(program).filter((token) => {
        const { line, column } = map.toSource({
          line: token.loc?.start.line ?? 0,
          column: (token.loc?.start.column ?? 0) + 1,
        });
        return !source.startsWith(program.slice(token.start, token.end), offsetOf(source, line, column));
      });
      const words = putIn.map((token) => `${program.slice(token.start, token.end)} `).join("");
      expect(words).toMatch(PUT_IN);
    }),
    { numRuns: runs(1000) },
  );
});

test("calls in a program with converted TypeScript map to their places in the source", async () => {
  const anew = oneOf(
    "enum Kind { A, B = 'ü' }",
    "class Row { constructor(private id: number, public name = '😀') {} }",
    "const n = <number>f();",
  );
  const calls = fc.array(fc.tuple(fc.oneof(STATEMENTS, TYPED), oneOf("\n", " ", "\r\n")), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(anew, calls, async (first, statements) => {
      const block = (index: number, [statement, space]: [string, string]) =>
        `{ ${statement}${space}probe("m${index}") }${space}`;
      const source = `${first}\n${statements.map((one, index) => block(index, one)).join("")}return 1`;
      const { program, map } = await prepared(source);
      for (let index = 0; index < statements.length; index += 1) {
        const at = program.indexOf(`"m${index}"`);
        const lines = program.slice(0, at).split("\n");
        const place = map.toSource({ line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 });
        expect(source.slice(offsetOf(source, place.line, place.column))).toMatch(new RegExp(`^"m${index}"`));
      }
    }),
    { numRuns: runs(200) },
  );
});
