import { expect, test } from "vitest";
import { parseProgram } from "../../../../src/programs/prepare/thread/parse-program.ts";
import { returnLastExpression } from "../../../../src/programs/prepare/thread/return-last.ts";

async function edit(code: string) {
  const parsed = await parseProgram(code);
  if ("fault" in parsed) throw new Error(parsed.fault.message);
  return returnLastExpression(parsed);
}

test.each([
  ["a", "return await (a\n);"],
  ["a;", "return await (a\n);"],
  ["const a = 1; a.b", "const a = 1; return await (a.b\n);"],
  ["await f()", "return await (await f()\n);"],
  ["({ a: 1 })", "return await (({ a: 1 })\n);"],
  ["a, b", "return await (a, b\n);"],
  ["a // end", "return await (a\n); // end"],
  ["a /* one */ ; /* two */", "return await (a /* one */ \n); /* two */"],
  ["`;`", "return await (`;`\n);"],
  ["/;/", "return await (/;/\n);"],
  ["';';", "return await (';'\n);"],
  ["b; ';';", "b; return await (';'\n);"],
  ["function f() {}\nf()", "function f() {}\nreturn await (f()\n);"],
  ["a\n\n\n", "return await (a\n);\n\n\n"],
])("the value of the last expression of %j is returned", async (code, program) => {
  expect((await edit(code)).program).toBe(program);
});

test.each([
  ["async () => { return 1 }", "return await (async () => { return 1 }\n)(tools);"],
  ["(tools) => 1;", "return await ((tools) => 1\n)(tools);"],
  ["(async function () {})", "return await ((async function () {})\n)(tools);"],
  ["function f() {} // end", "function f() {} // end\nreturn await f(tools);"],
  ["async function main() {}", "async function main() {}\nreturn await main(tools);"],
  ["const a = () => 1", "const a = () => 1\nreturn await a(tools);"],
  ["const c = 1;\nfunction main() {}", "const c = 1;\nfunction main() {}\nreturn await main(tools);"],
  [
    "const A = 1, B = 2; class C {}\nconst main = async () => A;",
    "const A = 1, B = 2; class C {}\nconst main = async () => A;\nreturn await main(tools);",
  ],
  [
    "function a() {}\nfunction main() {}\nfunction b() {}",
    "function a() {}\nfunction main() {}\nfunction b() {}\nreturn await main(tools);",
  ],
])("a program that only is or declares a function calls it: %j", async (code, program) => {
  expect((await edit(code)).program).toBe(program);
});

test.each([
  "",
  "// nothing",
  "return 1",
  "a = 1",
  "a += 1",
  "a++",
  "--a.b",
  "if (a) { b }",
  "for (const a of b) a",
  "throw new Error('a')",
  "const a = 1",
  "const a = () => 1, b = 2",
  "let main = () => 1;\nconst c = main()",
  "class A {}",
  "'use strict'",
  '"use strict";',
  "for (const a of b) { a }\n;",
  "function a() {}\nfunction b() {}",
  "const c = 1;\nfunction f() {}",
  "const c = 1;\nfunction main() {}\nconst r = main()",
  "const c = 1;\nf();\nfunction main() {}",
  "{ a }",
])("the program %j has its own return, or returns nothing, and is unchanged", async (code) => {
  expect(await edit(code)).toEqual({ program: code, insertions: [] });
});

test("a function beside other statements is not called", async () => {
  expect((await edit("const a = 1; () => a")).program).toBe("const a = 1; return await (() => a\n);");
});

test.each<[string, number, number]>([
  ["a", 1, 1],
  ["const a = 1; a", 1, 14],
  ["const a = 1;\n\n  a\n  .b", 3, 3],
  ["() => 1", 1, 1],
])("what is put into %j stands at line %i, column %i", async (code, line, column) => {
  expect((await edit(code)).insertions).toEqual([{ line, column, length: "return await (".length }]);
});
