import { expect, test } from "vitest";
import { z } from "zod";
import { createRuntime, defineTool } from "../../../src/index.ts";
import { unknownFieldNotes } from "../../../src/executions/drive/unknown-fields.ts";

const typed = (name: string, output?: z.ZodType, handler: () => unknown = () => ({ total: 1, tickets: [] })) =>
  defineTool({
    name,
    description: "Lists",
    inputSchema: z.object({}),
    ...(output && { outputSchema: output }),
    allowedCallers: ["programmatic"],
    effect: "read",
    execute: handler,
  });
const list = typed("desk.list", z.object({ total: z.number(), tickets: z.array(z.object({ id: z.number() })) }));
const NOTE =
  'The program reads "items" where it may be missing. A result of tools.desk.list has no field "items". It has "total", "tickets".';

test("a program that goes on with nothing, because it asks a result for an unknown field, is told so beside its result", async () => {
  await using runtime = await createRuntime({ tools: [list] });
  const report = await runtime.execute("const r = await tools.desk.list({}); return r?.items?.length ?? 0");
  expect(report.outcome).toEqual({ type: "completed", value: 0 });
  expect(report.output.text).toBe(`0\n\nNote: ${NOTE}`);
  expect(report.notes).toEqual([NOTE]);
  const again = (await runtime.execution(report.execution).status()).report;
  expect(again?.output.text).toBe(report.output.text);
});

test("what was observed counts as what was declared", async () => {
  await using runtime = await createRuntime({ tools: [typed("desk.any")], observeResults: true });
  const report = await runtime.execute("const r = await tools.desk.any({}); return r?.ticket ?? null");
  expect(report.notes).toEqual([expect.stringMatching(/"ticket".*tools\.desk\.any.*"tickets"/)]);
});

test.each([
  ["a field that there is", "r?.total"],
  ["a field at another level", "r?.tickets?.[0]?.id"],
  ["a method, and what every list has", "r?.tickets?.map?.(String)?.length"],
  ["a field that the program makes", "const own = { items: 1 }; own?.items"],
  ["a field that the program sets", "r.items = 1; r?.items"],
  ["a variable of that name", "const items = r; r?.items"],
])("no note is left for %s", (_, source) => {
  expect(unknownFieldNotes(source, "javascript", [list])).toEqual([]);
});

test("no note is left if nothing is known of a tool that was called, or if its results have fields of any name", () => {
  expect(unknownFieldNotes("r?.items", "javascript", [list])).toHaveLength(1);
  expect(unknownFieldNotes("r?.items", "javascript", [])).toEqual([]);
  expect(unknownFieldNotes("r?.items", "javascript", [list, typed("desk.any")])).toEqual([]);
  for (const output of [z.looseObject({ a: z.number() }), z.object({ by: z.record(z.string(), z.number()) })])
    expect(unknownFieldNotes("r?.items", "javascript", [typed("desk.open", output)])).toEqual([]);
});

test("Python asks by get", () => {
  expect(unknownFieldNotes('r.get("items", [])', "python", [list])).toEqual([NOTE]);
  expect(unknownFieldNotes('r.get("total", 0)', "python", [list])).toEqual([]);
});

test("a long program is read to a bound, in a time that grows with it", () => {
  const long = "r?.a0".repeat(100_000);
  expect(unknownFieldNotes(long, "javascript", [list]).length).toBeLessThanOrEqual(3);
  const many = Array.from({ length: 9000 }, (_, at) => `r?.q${at}`).join(";");
  expect(unknownFieldNotes(many, "javascript", [list])).toHaveLength(3);
});
