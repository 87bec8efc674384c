import { expect, test } from "vitest";
import { bodyOf } from "../../../../src/executions/prepare/thread/function-body.ts";
import { parseProgram } from "../../../../src/executions/prepare/thread/parse-program.ts";

/** The code a text is read as, or its fault and place. */
async function read(code: string): Promise<unknown> {
  const parsed = await parseProgram(code);
  return "fault" in parsed ? [parsed.fault.code, parsed.fault.message, parsed.position] : bodyOf(parsed.text);
}

test.each(["}\n{", "} async function x() {", "return 1 } f(); {", "let a: number = 1; }\n{"])(
  "the program %j cannot leave the function around it",
  async (code) => {
    expect(await read(code)).toEqual(["syntax", expect.any(String), undefined]);
  },
);

test.each([
  ["let x: string = 'a'", "let x         = 'a'"],
  ["const a = b as Row satisfies Row", "const a = b"],
  ["a!.b!()", "a .b ()"],
  ["function f(this: Foo, a?: number): void {}", "function f(           a         )       {}"],
  ["const f = async <T,>(x: T): Promise<T> => x", "const f = async     (x   )             => x"],
  ["f<{ a: string }>(b)", "f               (b)"],
  ["return f<'a' | \"b\">(c)", "return f           (c)"],
  ["x.map<`a${string}`>(f)", "x.map              (f)"],
  ["interface A { b: string }", ""],
  ["abstract class A { abstract b(): void }", "         class A {"],
  [
    "const t: string = `\nimport a from 'b'\nexport default 1\n`",
    "const t         = `\nimport a from 'b'\nexport default 1\n`",
  ],
])("in %j the types become spaces", async (code, start) => {
  const stripped = (await read(code)) as string;
  expect(stripped).toHaveLength(code.length);
  expect(stripped.startsWith(start)).toBe(true);
  expect(stripped.slice(start.length)).toMatch(/^[ }]*$/);
});

test.each<[code: string, value: unknown]>([
  ["enum A { B = 2, C }\nreturn A.C", 3],
  ["let x: number\n  const enum A { B = 'b' }\nreturn A.B", "b"],
  ["namespace N { export const a = 1 }\nreturn N.a", 1],
  ["class A { constructor(private a: number) {} get b(): number { return this.a } }\nreturn new A(7).b", 7],
  ["const a = <number>(5);\nreturn a", 5],
])("TypeScript that cannot be erased is written anew: %j", async (code, value) => {
  expect(await new AsyncFunction((await read(code)) as string)()).toBe(value);
});

const AsyncFunction = (async () => {}).constructor as new (body: string) => () => Promise<unknown>;

const NO_IMPORT =
  "A program cannot import modules. Tools are available as `tools`; write any other code you need into the program.";
const NO_EXPORT = "A program cannot export values. Use `return` instead.";

test.each([
  ["const a = 1; export { a }", "const a = 1;             "],
  ["export default async (x: string) => x", "return         async (x        ) => x"],
  ["export default { a: 1 }", "return         { a: 1 }"],
  ["export interface A { b: string }\nreturn 1", "                                \nreturn 1"],
  [
    "async function run() {}\nexport { run as default, run }",
    "async function run() {}\n                              \nreturn run;",
  ],
  [
    "export default function run() {}\nexport function help() {}",
    "               function run() {}\n       function help() {}\nreturn run;",
  ],
  ["const text = `\nexport const a = 1\n`; export let b", "const text = `\nexport const a = 1\n`;        let b"],
])("the exports of %j become the body of a function", async (code, body) => {
  expect(await read(code)).toBe(body);
});

const NOT_ASYNC =
  "`await` is in a function that is not async. Write `async` before that function, as in `async (row) => …`.";
const PYTHON =
  "This is Python, and the program must be JavaScript. Write it as the body of an async JavaScript function.";
const SHELL =
  "This is a command for a shell, and the program must be JavaScript. There is no shell: call tools, and compute with JavaScript.";
const BACKSLASH = "A backslash is outside of the program's strings. Write a line break as one, and not as \\n.";
const ANYWHERE = [expect.any(Number), expect.any(Number)] as [number, number];

test.each<[code: string, message: string, line: number, column: number, fault?: string]>([
  ["x = ;", "Unexpected token.", 1, 5],
  ["const a = 1;\n  const a = 2;", "Identifier 'a' has already been declared.", 2, 9],
  ["return 'abc", "Unterminated string constant.", 1, 8],
  ["`abc", "Unterminated template.", 1, 2],
  ["if (a) {", "Unexpected token.", 1, 9],
  ["return 1\n}", "Unexpected token.", 2, 2],
  ["class A { @log f() {} }", "A program cannot have decorators. Call the function with what it is to wrap.", 1, 11],
  ["return /(/", "Invalid regular expression: /(/: Unterminated group.", 1, 9],
  ["break", "Unsyntactic break.", 1, 1],
  // Neither JavaScript nor TypeScript.
  ["let x: number = ;", "Unexpected token.", 1, 6],
  ["import fs from 'node:fs'", NO_IMPORT, 1, 1, "program_is_module"],
  ["let x: number\nimport { a } from 'b'", NO_IMPORT, 2, 1, "program_is_module"],
  ["const a = 1;\n  const fs = await import('fs');", NO_IMPORT, 2, 20, "program_is_module"],
  ["let x: number = 1; await import('fs')", NO_IMPORT, 1, 26, "program_is_module"],
  ["return import.meta.url", "A program is not a module and has no import.meta.", 1, 8, "program_is_module"],
  ["const a = 1; export { a } from 'a'", NO_EXPORT, 1, 14, "program_is_module"],
  ["export default class {}", NO_EXPORT, 1, 1, "program_is_module"],
  ["return rows.map((row) => await tools.a(row))", NOT_ASYNC, ...ANYWHERE, "await_not_async"],
  ["function f(): number { return await tools.a() }\nreturn f()", NOT_ASYNC, ...ANYWHERE, "await_not_async"],
  ["def main():\n    return 1", PYTHON, ...ANYWHERE],
  ["for row in rows:\n    print(row)", PYTHON, ...ANYWHERE],
  ["rows = await tools.list()\nreturn [row for row in rows if row]", PYTHON, ...ANYWHERE],
  ["curl -s https://example.com | jq .", SHELL, ...ANYWHERE],
  ["$ ls -la /tmp", SHELL, ...ANYWHERE],
  ["#!/bin/bash\nset -e\ncat a.txt", SHELL, ...ANYWHERE],
  [String.raw`return 1;\\nreturn 2`, BACKSLASH, ...ANYWHERE],
])("%j is refused with its place, and told what it is: %s", async (code, message, line, column, fault = "syntax") => {
  expect(await read(code)).toEqual([fault, message, { line, column }]);
});

const TOO_DEEP = ["syntax", "The program is nested too deeply to be read.", undefined];

test.each([
  ["lists", (levels: number) => "[".repeat(levels) + "]".repeat(levels)],
  ["calls", (levels: number) => "f(".repeat(levels) + ")".repeat(levels)],
  ["functions", (levels: number) => "()=>{".repeat(levels) + "}".repeat(levels)],
  ["templates", (levels: number) => "`${".repeat(levels) + "}`".repeat(levels).replace("}", "1}")],
])("a program of two hundred nested %s is read, and no deeper one", async (_, nest) => {
  expect(await read(nest(200))).toBe(nest(200));
  expect(await read(nest(201))).toEqual(TOO_DEEP);
  expect(await read(nest(100_000))).toEqual(TOO_DEEP);
});

test.each([
  ["operators", (levels: number) => `${"!".repeat(levels)}1`],
  ["choices", (levels: number) => `${"a?".repeat(levels)}b${":c".repeat(levels)}`],
  ["assignments", (levels: number) => `${"a=".repeat(levels)}1`],
])("a program of a hundred thousand nested %s is refused as a syntax error", async (_, nest) => {
  expect(await read(nest(50))).toBe(nest(50));
  expect(await read(nest(100_000))).toMatchObject(["syntax", expect.any(String), expect.anything()]);
});
