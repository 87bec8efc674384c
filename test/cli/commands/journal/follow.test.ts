import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createRuntime, createSqliteJournal } from "../../../../src/index.ts";
import { createMemorySandbox, scriptedModel } from "../../../../src/testing.ts";
import { signal, tool } from "../../../support/tools.ts";
import { pay } from "../../../telemetry/fixtures/pay.ts";
import { begin, portcullis } from "../../command.ts";

const HOSTILE = "\u001b[2J\u202e\nportcullis: all is well";

function openJournal() {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-"));
  const path = join(folder, "journal.db");
  const journal = createSqliteJournal({ path });
  onTestFinished(() => {
    journal[Symbol.dispose]();
    rmSync(folder, { recursive: true });
  });
  return { journal, path };
}

const following = (args: readonly string[]) => begin(args[0] === "watch" ? args : [...args, "--follow"]);
const linesOf = (stdout: string) => stdout.trimEnd().split("\n");

test("an execution is waited for before there is a journal", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "journal.db");
  const { until, finished } = following(["show", "order-1", "--journal", path]);
  await until(`there is no journal ${path} yet`);
  using journal = createSqliteJournal({ path });
  await using runtime = await createRuntime({ tools: [], journal, sandbox: createMemorySandbox() });
  await runtime.execute("return 7;", { execution: "order-1" });
  const { code, stdout } = await finished;
  expect([code, linesOf(stdout).at(-1)]).toEqual([0, "ended as completed: 7"]);
});

test.each([
  ["show --follow", ["watch", "order-1"], 1],
  ["executions --follow", ["watch"], 0],
])("watch is short for %s", async (_, args, place) => {
  const { journal, path } = openJournal();
  await using runtime = await createRuntime({ tools: [], journal, sandbox: createMemorySandbox() });
  await runtime.execute("// Adds two numbers.\nreturn 3 + 4;", { execution: "order-1" });
  const { until, hear, finished } = following([...args, "--journal", path]);
  await until("completed");
  if (place === 0) hear("SIGINT");
  const { code, stdout } = await finished;
  expect(code).toBe(place === 0 ? 130 : 0);
  const lines = linesOf(stdout);
  expect(lines[0]).toMatch(/^program order-1 of default:? completed/);
  if (place > 0) expect(lines.slice(1)).toEqual(["Adds two numbers.", "ended as completed: 7"]);
});

test("one execution is shown as lines while it runs, and the command ends with it", async () => {
  const { journal, path } = openJournal();
  const go = signal();
  const wait = tool("wait", async () => {
    await go.happened;
    return "x".repeat(3000);
  });
  await using runtime = await createRuntime({ tools: [wait, pay], journal, sandbox: createMemorySandbox() });
  const program = `console.log(${JSON.stringify(HOSTILE)}); await tools.wait({ key: "a" }); console.log("after"); return 7;`;
  const running = runtime.execute(program, { execution: "order-1" });
  const { until, finished } = following(["show", "order-1", "--journal", path]);
  await until("call 1: wait");
  go.happen();
  expect((await running).outcome.type).toBe("completed");
  const { code, stdout } = await finished;
  const lines = linesOf(stdout);
  expect(code).toBe(0);
  expect(lines[0]).toMatch(/^program order-1 of default: running, [\d.]+ m?s$/);
  expect(lines).toContain('call 1: wait with {"key":"a"} runs');
  expect(lines).toContainEqual(expect.stringMatching(/^call 1: wait → string, [\d.]+ m?s, 2\.9 KiB$/));
  expect(lines).toContain("  \\u001b[2J\\u202e");
  expect(lines).toContain("  portcullis: all is well");
  expect(lines.at(-1)).toBe("ended as completed: 7");
});

test("a waiting call is shown with the command that decides it, and then the end of its execution", async () => {
  const { journal, path } = openJournal();
  await using runtime = await createRuntime({
    tools: [pay],
    journal,
    sandbox: createMemorySandbox(),
    approve: () => "later",
  });
  await runtime.execute("return await tools.pay({});", { execution: "order-2" });
  const { until, finished } = following(["show", "order-2", "--journal", path]);
  await until("portcullis decide order-2 1 --allow");
  await runtime.resume("order-2", { decisions: { 1: { allow: true, by: "ann" } } });
  const { code, stdout } = await finished;
  const lines = linesOf(stdout);
  expect(code).toBe(0);
  expect(lines.join("\n")).toContain("call 1: pay with {} waits for approval");
  expect(lines).toContain("call 1: pay allowed by ann");
  expect(lines.at(-1)).toBe('ended as completed: "paid"');
});

test("a conversation is shown by its turns and its programs", async () => {
  const { journal, path } = openJournal();
  await using runtime = await createRuntime({ tools: [], journal, sandbox: createMemorySandbox() });
  const model = scriptedModel([{ programs: ["return 1"] }, { text: "It is one." }]);
  await runtime.agent({ model, task: "t", execution: "talk" });
  const { code, stdout } = await portcullis(["show", "talk", "--follow", "--journal", path]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/turn 1: called, .*\n {2}call \S+: its program, execution \S+/);
  expect(stdout).toContain("It is one.");
});

test("without an id all executions of a tenant are shown, with new ones and changes, until it is interrupted", async () => {
  const { journal, path } = openJournal();
  const sandbox = createMemorySandbox();
  await using runtime = await createRuntime({ tools: [pay], journal, sandbox, approve: () => "later" });
  await runtime.execute("return 1", { execution: "before" });
  await runtime.execute("return 1", { execution: "others", tenant: "beta" });
  const { until, hear, finished } = following(["executions", "--tenant", "default", "--journal", path]);
  await until("program before of default completed");
  await runtime.execute("return await tools.pay({});", { execution: "order-3" });
  await until("program order-3 of default waiting: pay");
  await runtime.resume("order-3", { decisions: { 1: { allow: false } } });
  await until("program order-3 of default failed");
  hear("SIGINT");
  const { code, stdout } = await finished;
  expect(code).toBe(130);
  expect(stdout).not.toContain("others");
});

test("a missing journal is named in the error", async () => {
  const { path } = openJournal();
  const missing = await portcullis(["executions", "--follow", "--journal", `${path}.none`]);
  expect(missing).toMatchObject({ code: 2 });
});

test("an execution that is not there yet is waited for", async () => {
  const { journal, path } = openJournal();
  const { until, finished } = following(["show", "order-9", "--journal", path]);
  await until("no execution order-9 yet: waiting");
  await using runtime = await createRuntime({ tools: [pay], journal, sandbox: createMemorySandbox() });
  await runtime.execute("return 7", { execution: "order-9" });
  expect((await finished).code).toBe(0);
});
