import { expect, test } from "vitest";
import { z } from "zod";
import { type ExecutionEvent, jsonSchema, type RuntimeOptions } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/runtime/testing.ts";
import { checkProgramsOfFile } from "../../support/check-programs.ts";
import { answered, makeTool, runtimeWith } from "../../support/index.ts";

checkProgramsOfFile();

const calls: string[] = [];
const list = makeTool({
  name: "list",
  inputSchema: z.object({ status: z.enum(["open", "closed"]).optional() }),
  outputSchema: z.object({ items: z.array(z.object({ id: z.number(), status: z.string() })) }),
  execute: () => {
    calls.push("list");
    return { items: [{ id: 1, status: "open" }] };
  },
});
/** Its schema does not say that there are no other fields, and there is one. */
const silent = makeTool({
  name: "silent",
  inputSchema: z.object({}),
  outputSchema: jsonSchema({ type: "object", properties: { id: { type: "number" } } }),
  execute: () => ({ id: 1, name: "Ann" }),
});

const WRONG_CALLS = `const rows = (await tools.list({ state: "open" })).items;
return tools.close({ id: rows[0].id });`;
const WRONG_FIELD =
  'const { items } = await tools.list({});\nreturn items.filter((t: { state: string }) => t.state === "open").length;';

async function run(program: string, checkPrograms?: "refuse" | "warn" | "off", more: Partial<RuntimeOptions> = {}) {
  calls.length = 0;
  const events: ExecutionEvent[] = [];
  await using runtime = await runtimeWith([list, silent], more);
  const onEvent = (event: ExecutionEvent) => void events.push(event);
  const report = await runtime.execute(program, { onEvent, ...(checkPrograms && { checkPrograms }) });
  const checked = events.flatMap((event) => (event.type === "program_checked" ? [event.verdict] : []));
  return { ...report, checked, events };
}

test("a program with calls that would be refused ends before its first call, with all of them and their lines", async () => {
  const { outcome, output, checked } = await run(WRONG_CALLS, "refuse");
  expect(calls).toEqual([]);
  expect(checked).toEqual(["refused"]);
  expect(outcome).toMatchObject({ type: "failed", fault: { code: "calls_invalid", line: 1 } });
  expect(output.text).toContain('Line 1: tools.list has no field "state". It takes "status".');
  expect(output.text).toContain("Line 2: there is no tool tools.close.");
});

test("a program that fails at the first of several wrong calls is told all of them, and at one of its own faults that one", async () => {
  const [first = "", second = ""] = WRONG_CALLS.replace("return tools", "await tools").split("\n");
  const { outcome, checked } = await run(`${second.replace("rows[0].id", "1")}\n${first}`, "refuse");
  expect(outcome).toMatchObject({
    fault: { code: "calls_invalid", line: 1, message: expect.stringMatching(/Line 2/) as string },
  });
  expect(checked).toEqual(["refused"]);
  expect((await run(`null.x;\n${first}`, "refuse")).outcome).toMatchObject({ fault: { name: "TypeError", line: 1 } });
  expect((await run("return tools.close({});", "refuse")).output.text).toContain("The tools are tools.list");
});

test("a field that no result has is a note of a program that has completed, and is told by its line in the source", async () => {
  const { outcome, notes, checked } = await run(WRONG_FIELD, "refuse");
  expect(outcome).toEqual({ type: "completed", value: 0 });
  expect(checked).toEqual(["warned"]);
  expect(notes).toEqual([
    'Line 2: it reads "state", and "items[]" of a result of tools.list has no such field. It has "id", "status".',
  ]);
});

test("with warn the calls are made, and what is wrong is in the notes", async () => {
  const { outcome, notes, checked } = await run(WRONG_CALLS, "warn");
  expect([outcome, checked]).toMatchObject([{ type: "failed", fault: { code: "input_invalid" } }, ["warned"]]);
  expect(notes.join()).toContain('tools.list has no field "state"');
});

test.each(["off", undefined] as const)("with %s for a program of the host, nothing is checked", async (mode) => {
  expect(await run(WRONG_FIELD, mode, { checkPrograms: "refuse" })).toMatchObject({ checked: [], notes: [] });
});

test("a right program is checked before its first call, and its report says nothing of it", async () => {
  const { events, notes, outcome } = await run("return (await tools.list({ status: 'open' })).items.length;", "refuse");
  expect(outcome).toEqual({ type: "completed", value: 1 });
  expect(notes).toEqual([]);
  expect(events.map(({ type }) => type).slice(1, 3)).toEqual(["program_checked", "call_started"]);
});

test("a field that a schema does not name is no fault if a result has it", async () => {
  expect((await run("return (await tools.silent({})).name;", "refuse")).notes).toEqual([]);
  expect((await run("return (await tools.silent({})).title ?? 0;", "refuse")).notes).toEqual([
    'Line 1: it reads "title", and a result of tools.silent has no such field. It has "id".',
  ]);
});

test("an execution that was refused has its fault in the journal, and is replayed", async () => {
  await using runtime = await runtimeWith([list]);
  const { execution, outcome } = await runtime.execute(WRONG_CALLS, { checkPrograms: "refuse" });
  expect((await runtime.execution(execution).status()).report?.outcome).toEqual(outcome);
  expect((await runtime.execution(execution).replay()).type).toBe("identical");
});

test.each([
  [undefined, true],
  ["off", false],
] as const)("in a conversation with checkPrograms %s, a program is checked: %s", async (checkPrograms, isChecked) => {
  calls.length = 0;
  const model = scriptedModel([{ programs: [WRONG_CALLS] }, { text: "Done." }]);
  await answered([list], { model, task: "Close a ticket." }, checkPrograms && { checkPrograms });
  const told = JSON.stringify(model.conversations[0]);
  expect(told.includes("No tool was called")).toBe(isChecked);
  expect(told.includes("there is no tool tools.close")).toBe(isChecked);
});

test("a program of another package's loop is checked", async () => {
  calls.length = 0;
  await using runtime = await runtimeWith([list]);
  const { run_program } = await runtime.asTool("anthropic");
  await expect(run_program.run({ code: WRONG_CALLS })).rejects.toThrow("No tool was called");
  await using unchecked = await runtimeWith([list], { checkPrograms: "off" });
  await expect((await unchecked.asTool("anthropic")).run_program.run({ code: WRONG_CALLS })).rejects.toThrow(
    /^(?!No tool)/,
  );
});
