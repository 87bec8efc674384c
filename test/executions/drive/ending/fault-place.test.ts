import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { createRuntime } from "../../../../src/index.ts";
import { executed, makeTool, runs, runtimeWith, throws } from "../../../support/index.ts";
import { createPythonProcessSandbox, PYTHON } from "../../../support/python-process-sandbox.ts";

const tool = (name: string, handler: () => unknown = () => ({ items: [1], a: { b: 1 } })) =>
  makeTool({
    name,
    inputSchema: z.object({ id: z.number(), opt: z.object({ deep: z.string() }).optional() }),
    execute: handler,
  });
const tools = [tool("crm.find"), tool("broken", throws("no"))];

/** Programs; the place that its error has to name stands behind `→`, which is taken out. */
const PROGRAMS = [
  "const a = 1;\nconst r = await tools.crm.→fnd({ id: 1 });\nreturn r;",
  "const { crm } = tools;\nreturn await crm.→fnd({ id: 1 });",
  "const r = await tools.→cmr.find({ id: 1 });\nreturn r;",
  "const r = await tools?.→cmr['find']({ id: 1 });\nreturn r;",
  "return await →tools.crm.find({ id: 1, idd: 1 });",
  "return await Promise.all([\n  tools.crm.find({ id: 1 }),\n  →tools.broken({ id: 2 }),\n]);",
  "const { find } = tools.crm;\nconst found = { idd: 1 };\nreturn await →find(found);",
  "const r = await →tools.broken({ id: 1 });\nreturn r;",
  "return await Promise.all([tools.crm.find({ id: 1 }), →tools.broken({ id: 2 })]);",
  "const first = tools.broken({ id: 1 });\n→await first;",
  "const r = await tools.crm.find({ id: 1 });\nreturn r.→itms.length;",
  "const r = await tools.crm.find({ id: 1 });\nreturn r.a.→c.d;",
  "const r = await tools.crm.find({ id: 1 });\nreturn r.items.map((i) => i).→foo();",
  "return { a: 1,\n b: →foo };",
  "const r = await →crm.find({ id: 1 });\nreturn r;",
  "const r = await tools.crm.find({ id: →foo });\nreturn r;",
];

test.each(PROGRAMS)("an error points at the name that is wrong: %j", async (marked) => {
  const { outcome } = await executed(tools, marked.replace("→", ""), {}, { logger: { error() {} } });
  const before = marked.slice(0, marked.indexOf("→")).split("\n");
  expect(outcome).toMatchObject({
    type: "failed",
    fault: { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 },
  });
});

const LINE_ENDS = ["\n", "\r", "\r\n", "\u2028", "\u2029"];

test.each([
  ["a call without a position", (end: string) => `const a = 1;${end}await tools.crm.find(1n);`, 2, "await tools"],
  ["an unknown name", (end: string) => `const a = 1;${end}return nothing;`, 2, "return nothing;"],
  ["a missing await", (end: string) => `const a = 1;${end}return tools.crm.find({ id: 1 }).items;`, 2, "return tools"],
  ["a wrong bracket", (end: string) => `const a = 1;${end}return (a;`, 2, "return (a;"],
  [
    "a place of the stripper's",
    (end: string) => `const a: number = 1;${end}const f = () => { await a; };`,
    2,
    "const f",
  ],
  ["a rewritten text", (end: string) => `enum A { b }${end}const c = "\u2028";${end}return nothing;`, 4, "return"],
  ["an import with types", (end: string) => `const a: number = 1;${end}import b from "b"`, 2, "import b"],
] as const)("%s has the line and excerpt of V8, whatever ends its lines", async (_, write, line, excerpt) => {
  await using runtime = await runtimeWith(tools, { logger: { error() {} } });
  for (const end of LINE_ENDS) {
    const { outcome } = await runtime.execute(write(end));
    expect(outcome, JSON.stringify(end)).toMatchObject({ type: "failed", fault: { line } });
    expect("fault" in outcome ? outcome.fault.excerpt : "", JSON.stringify(end)).toContain(excerpt);
  }
});

const LAST_LINES = [
  "throw fault",
  "  throw fault;",
  "throw fault//",
  "throw fault // tools.crm.find crm find",
  "{throw fault}",
];
const name = fc.constantFrom("ToolError", "Error", "TypeError", "ReferenceError", "");
const words = ". .. a. .a find crm.find crm. tools tools. save load $ e".split(" ");
const text = fc.oneof(fc.string({ maxLength: 20 }), fc.constantFrom(undefined, "", " ", ...words));
const message = fc.oneof(
  text,
  text.map((word) => `${word ?? ""} is not defined`),
  text.map((word) => `Cannot read properties of undefined (reading '${word ?? ""}')`),
  text.map((word) => `The input of crm.find does not fit: ${word ?? ""} is not a field of it.`),
);
const fault = fc.record({
  name,
  message,
  tool: text,
  code: fc.constantFrom(undefined, "input_invalid", "value_not_json", "tool_not_found"),
  stack: fc.constantFrom(...["1:1", "2:1", "3:1", "3:7", "5:1", "5:7", "99:99"].map((at) => `program.js:${at}`)),
});

test("a program that describes its own error as a tool's, with any name, tool and place, fails with that error", async () => {
  await using runtime = await runtimeWith(tools, { logger: { error() {} } });
  await fc.assert(
    fc.asyncProperty(fault, fc.constantFrom(...LAST_LINES), async (fields, last) => {
      const program = `const fault = new Error("");\nObject.assign(fault, ${JSON.stringify(fields)});\n${last}`;
      const { outcome } = await runtime.execute(program);
      expect(outcome).toMatchObject({ type: "failed" });
    }),
    { numRuns: runs(160) },
  );
});

const WORDS = 1500;

test("the path of a tool that a program has made up is not looked for part by part in all of it", async () => {
  await using runtime = await runtimeWith(tools, { logger: { error() {} } });
  const made = { name: "ToolError", stack: "program.js:5:1", tool: `${"a.".repeat(127)}a` };
  const program = `const fault = new Error("");\nObject.assign(fault, ${JSON.stringify(made)});\nthrow fault // x${"a.".repeat(WORDS)}`;
  const search = vi.spyOn(String.prototype, "indexOf");
  const { outcome } = await runtime.execute(program);
  const searches = search.mock.calls.length;
  search.mockRestore();
  expect(outcome).toMatchObject({ type: "failed", fault: { name: "ToolError" } });
  expect(searches).toBeLessThan(2 * WORDS);
});

test
  .skipIf(PYTHON.missing)
  .each(["class ToolError(Exception): pass\ndef f():\n    raise ToolError\nf()", "raise ToolError"])(
  "the error class of tools, raised by a program in Python, ends it as failed: %j",
  async (program) => {
    const sandbox = createPythonProcessSandbox();
    await using runtime = await createRuntime({ tools, sandbox, logger: { error() {} } });
    expect((await runtime.execute(program, { language: "python" })).outcome).toMatchObject({ type: "failed" });
  },
);
