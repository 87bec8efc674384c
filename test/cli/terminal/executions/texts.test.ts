import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createRuntime, createSqliteJournal } from "../../../../src/index.ts";
import { createMemorySandbox, scriptedModel } from "../../../../src/runtime/testing.ts";
import { signal, tool, makeTool } from "../../../support/tools.ts";
import { newFolder } from "../../../support/new-folder.ts";
import { begin, portcullis } from "../../command.ts";

const HOSTILE = "\u001b[2J\u009b1A\u202e\nportcullis: all is well";

const pay = makeTool({ name: "pay", effect: "write", approval: "always", execute: () => "paid" });

async function open(tools = [pay, tool("echo", (input) => input)]) {
  const path = join(newFolder(onTestFinished), "journal.db");
  const journal = createSqliteJournal({ path });
  const runtime = await createRuntime({ tools, journal, sandbox: createMemorySandbox(), approve: () => "later" });
  onTestFinished(async () => {
    await runtime[Symbol.asyncDispose]();
    journal[Symbol.dispose]();
  });
  return { runtime, path, journalOption: ["--journal", path] };
}

/** A text without what is another in each run. */
function steady(text: string): string {
  return text
    .replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "ID")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/\b[\d.]+ m?s\b/g, "TOOK")
    .replaceAll(/\/\S+journal\.db/g, "FILE");
}

test("each kind of execution is shown by its work, calls, decisions, waits and ending, and no text of it controls a terminal", async () => {
  const { runtime, journalOption } = await open();
  const said = JSON.stringify(HOSTILE);
  await runtime.execute(
    `// Echoes.\nconsole.log(${said});\nawait Promise.all(Array.from({ length: 20 }, () => tools.echo({})));\nreturn tools.echo({ said: ${said} });`,
    { id: "ended" },
  );
  await runtime.execute(`throw new Error(${said});`, { id: "failed" });
  await runtime.execute(`return tools.pay({ to: ${said} });`, { id: "waits" });
  await runtime.execute("return tools.pay({});", { id: "decided" });
  await runtime.execution("decided").resume({ decisions: { 1: { allow: true, by: "ann", note: HOSTILE } } });
  const model = scriptedModel([{ programs: ["return 1"] }, { text: `It is one. ${HOSTILE}` }]);
  await runtime.agent({ model, task: `Count. ${HOSTILE}`, id: "talk" });
  const texts: string[] = [];
  for (const args of [...["ended", "failed", "waits", "decided", "talk"].map((id) => ["show", id]), ["show"]]) {
    const { code, stdout, stderr } = await portcullis([...args, ...journalOption]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(stdout).not.toMatch(/^portcullis/m);
    texts.push(`$ portcullis ${args.join(" ")}\n${stdout}`);
  }
  await expect(steady(texts.join("\n"))).toMatchFileSnapshot("texts.snap.txt");
});

test("show --follow prints the lines that come while an execution runs, each once, and ends with it", async () => {
  const go = signal();
  const begun = signal();
  const wait = tool("wait", async () => {
    begun.happen();
    await go.happened;
    return "x".repeat(3000);
  });
  const { runtime, journalOption } = await open([wait]);
  const running = runtime.execute("await tools.wait({}); return 7;", { id: "one" });
  await begun.happened;
  const { until, finished } = begin(["show", "one", "--follow", ...journalOption]);
  await until("call 1: wait with {} runs");
  go.happen();
  await running;
  const { code, stdout } = await finished;
  const lines = steady(stdout).trimEnd().split("\n");
  expect(code).toBe(0);
  expect(lines[0]).toBe("program one of default: running");
  expect(lines.filter((line) => line.startsWith("call 1"))).toEqual([
    "call 1: wait with {} runs",
    "call 1: wait → string, TOOK, 2.9 KiB",
  ]);
  expect(lines.slice(-2)).toEqual(["output:", "  7"]);
  expect(new Set(lines).size).toBe(lines.length);
});
