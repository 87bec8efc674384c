import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createSqliteJournal } from "../../../../src/index.ts";
import { anthropicWire } from "../../../models/anthropic/wire.ts";
import { serve } from "../../../models/wire.ts";
import { header } from "../../../journal/records.ts";
import { fixtures, ownProcess, portcullis as command } from "../../command.ts";
import { newFolder } from "../../../support/new-folder.ts";

const environment = { ANTHROPIC_API_KEY: anthropicWire.key };
const portcullis = (args: readonly string[], input = "") => command(args, input, { environment });

const folder = newFolder();

const TOOLS = ["--tools", join(folder, "tools.ts")];
writeFileSync(
  join(folder, "tools.ts"),
  `import { defineTool } from "${fixtures}../../../src/index.ts";
   import { z } from "${fixtures}../../../node_modules/zod/index.js";
   const common = { description: "d", inputSchema: z.object({ n: z.number() }), allowedCallers: ["programmatic"] } as const;
   export default [
     defineTool({ ...common, name: "pay", effect: "write", approval: "always", execute: ({ n }) => n }),
     defineTool({ ...common, name: "stock", effect: "read", outputSchema: z.object({ units: z.number() }), execute: "client" }),
   ];`,
);

test("a program waits, is decided and is taken up by several commands, the last a process of its own", async () => {
  const journal = ["--journal", join(folder, "one.db")];
  const program = "const paid = await tools.pay({ n: 3 });\nreturn paid + (await tools.stock({ n: 1 })).units;";
  const waits = await portcullis(["run", "-", ...TOOLS, ...journal, "--id", "order-1"], program);
  expect([waits.code, waits.stdout]).toEqual([6, expect.stringContaining("pay (call 1)")]);
  expect(waits.stderr).toContain(`portcullis decide order-1 1 --allow --journal ${join(folder, "one.db")}`);
  const decide = ["decide", "order-1", "1", "--allow", "--by", "ann", "--note", "checked"];
  const decided = await portcullis([...decide, ...journal]);
  expect(decided).toMatchObject({ code: 0, stdout: "" });
  const goOn = `portcullis resume order-1 --tools FILE --journal ${join(folder, "one.db")}`;
  expect(decided.stderr).toContain(goOn);
  const left = (await portcullis(["show", "order-1", ...journal])).stdout;
  expect(left).toContain('call 1: pay with {"n":3} is decided, and continues when the execution is resumed');
  expect(left).toContain(`\n  ${goOn}`);
  const asks = await portcullis(["resume", "order-1", ...TOOLS, ...journal]);
  expect(asks.code).toBe(6);
  expect(asks.stderr).toContain(`portcullis resume order-1 ${TOOLS.join(" ")} ${journal.join(" ")} --result 2=JSON`);
  const ended = await ownProcess(["resume", "order-1", ...TOOLS, ...journal, "--result", '2={"units":4}']);
  expect(ended).toMatchObject({ code: 0, stdout: "7\n" });
  const shown = await portcullis(["show", "order-1", ...journal]);
  expect(shown.stdout).toMatch(/^call 1: pay allowed by ann, \S+: checked$/m);
});

const CONVERSATION = `import { scriptedModel } from "${fixtures}../../../src/runtime/testing.ts";
export default scriptedModel([{ programs: ["return tools.pay({ n: 3 });"] }, () => ({ text: "done" })]);`;

test("what a conversation waits for, and in which program, is shown; a decision about the program names the conversation to take up", async () => {
  const journal = ["--journal", join(folder, "conversation.db")];
  const model = join(folder, "model.ts");
  writeFileSync(model, CONVERSATION);
  const asked = await portcullis(["ask", "Pay.", ...TOOLS, "--model", model, ...journal]);
  expect(asked.code).toBe(6);
  const [, id = ""] = /portcullis decide (\S+) call-1\/1 --allow/.exec(asked.stderr) ?? [];
  const hint = `portcullis resume ${id} ${TOOLS.join(" ")} --model ${model} ${journal.join(" ")}`;
  expect(asked.stderr).toContain(hint);
  const again = await portcullis(["resume", id, ...TOOLS, "--model", model, ...journal]);
  expect([again.code, again.stderr]).toEqual([6, expect.stringContaining(hint)]);
  const toolless = await portcullis(["resume", id, "--model", model, "--allow-changed-tools", ...journal]);
  expect(toolless.stderr).toContain(`portcullis resume ${id} --tools FILE --model ${model} ${journal.join(" ")}`);
  const shown = (await portcullis(["show", id, ...journal])).stdout;
  expect(shown).toContain('call call-1/1: pay with {"n":3} waits for approval');
  const [, program = ""] = /its program, execution (\S+)/.exec(shown) ?? [];
  expect((await portcullis(["show", program, ...journal])).stdout).toContain(`continues with ${id}`);
  const decided = await portcullis(["decide", program, "1", "--allow", "--by", "ann", ...journal]);
  expect(decided.stderr).toContain(`portcullis resume ${id} --tools FILE --model FILE --journal`);
  const twice = await portcullis(["decide", id, "call-1/1", "--deny", ...journal]);
  expect(twice.stderr).toContain("was decided already, by ann: allowed");
  const unnamed = await portcullis(["resume", id, ...TOOLS, ...journal]);
  expect(unnamed).toMatchObject({ code: 2, stdout: "" });
  expect(unnamed.stderr).toContain("with --model");
  const ended = await portcullis(["resume", id, ...TOOLS, "--model", model, ...journal]);
  expect(ended).toMatchObject({ code: 0, stdout: "done\n" });
  const late = await portcullis(["decide", id, "call-1/1", "--deny", ...journal]);
  expect(late.stderr).toContain("Call call-1/1 of pay was decided already, by ann: allowed");
});

test("resume without an id takes the models of ask: one that has taken over goes on, and turns are requested as they were", async () => {
  await using served = await serve(anthropicWire, [
    { fault: "status", status: 403 },
    { calls: [{ program: "return tools.pay({ n: 3 });" }] },
    { text: "Paid." },
  ]);
  const { url, asked } = served;
  const journal = ["--journal", join(folder, "recovered.db")];
  const first = ["--model", "anthropic:claude-a", "--base-url", url, "--no-stream"];
  const second = ["--fallback", "anthropic:claude-b"];
  const waits = await portcullis(["ask", "Pay.", ...TOOLS, ...first, ...second, ...journal]);
  const [, id = "", call = ""] = /^ {2}portcullis decide (\S+) (\S+) --allow/m.exec(waits.stderr) ?? [];
  expect((await portcullis(["decide", id, call, "--allow", ...journal])).code).toBe(0);
  const without = await portcullis(["resume", ...TOOLS, ...first, ...journal]);
  expect(without.stderr).toMatch(new RegExp(`${id} needs --model anthropic:claude-b`));
  const recovered = await portcullis(["resume", ...TOOLS, ...first, ...second, ...journal]);
  expect(recovered).toMatchObject({ code: 0, stdout: "Paid.\n" });
  expect(asked.map(({ body }) => [body.model, body.stream ?? false])).toEqual([
    ["claude-b", false],
    ["claude-b", false],
  ]);
});

test("resume without an id says which executions another process holds, and until when; their calls that have no result are shown", async () => {
  const path = join(folder, "driven.db");
  {
    using journal = createSqliteJournal({ path });
    const driver = "00000000-0000-4000-8000-000000000000";
    await journal.create(header("held", { tools: [] }), { driver, until: Date.now() + 3_600_000 });
  }
  const told = await portcullis(["resume", ...TOOLS, "--journal", path]);
  expect(told).toMatchObject({ code: 0, stdout: "" });
  expect(told.stderr).toMatch(
    /^Left alone: held is held by another process until \d{4}-.*run this command again then\.$/m,
  );
  expect((await portcullis(["show", "held", "--journal", path])).stdout).toMatch(
    /^A driver holds it until at least \d{4}-/m,
  );
  expect((await portcullis(["resume", "held", ...TOOLS, "--journal", path])).code).toBe(5);
});

test("a program itself waits for its approval with --approve-program, and a remembered decision holds for its equal calls", async () => {
  const journal = ["--journal", join(folder, "held.db")];
  const program = "return [await tools.pay({ n: 3 }), await tools.pay({ n: 3 })];";
  const held = await portcullis(["run", "-", ...TOOLS, ...journal, "--id", "two", "--approve-program"], program);
  expect([held.code, held.stdout]).toEqual([6, expect.stringContaining("run_program (call program)")]);
  expect(held.stderr).toContain("portcullis decide two program --allow");
  expect((await portcullis(["decide", "two", "program", "--allow", ...journal])).code).toBe(0);
  expect((await portcullis(["resume", "two", ...TOOLS, ...journal])).code).toBe(6);
  const decide = ["decide", "two", "1", "--allow", "--by", "ann", "--remember", ...journal];
  expect((await portcullis(decide)).code).toBe(0);
  const ended = await portcullis(["resume", "two", ...TOOLS, ...journal]);
  expect(ended).toMatchObject({ code: 0, stdout: "[3,3]\n" });
  const shown = await portcullis(["show", "two", ...journal]);
  expect(shown.stdout).toMatch(/^call 1: pay allowed, also later calls by ann, /m);
  expect(shown.stdout).toMatch(/^call 2: pay allowed, as call 1 by ann, /m);
});
test(
  "resume without an id takes up what dead hosts have left, tells what it could not take up, and ends with exit code 1 then",
  { timeout: 120_000 },
  async () => {
    const path = join(folder, "left.db");
    {
      using journal = createSqliteJournal({ path });
      await journal.create(header("left", { tools: [] }));
      await journal.create(header("changed"));
    }
    const recover = ["resume", ...TOOLS, "--journal", path];
    const told = await portcullis(recover);
    expect(told).toMatchObject({ code: 1, stdout: "1\n" });
    expect(told.stderr).toMatch(/^Not resumed: changed\. /m);
    const json = await portcullis([...recover, "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ execution: "changed", error: { code: "tools_changed" } });
    expect((await portcullis([...recover, "--allow-changed-tools"])).stderr).toContain(
      "for one execution: give its id",
    );
    const changed = await portcullis(["resume", "changed", ...TOOLS, "--journal", path]);
    expect(changed).toMatchObject({ code: 5, stdout: "" });
    expect(changed.stderr).toContain("--allow-changed-tools");
  },
);

test("an imported conversation loads no file that its journal names, and show tells what it waits for", async () => {
  const path = join(folder, "imported.db");
  const loaded = join(folder, "loaded");
  const model = join(folder, "model.mjs");
  writeFileSync(model, `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(loaded)}, "");`);
  const { program: _, source: __, sandbox: ___, ...base } = header("talk", { tools: [] });
  const about = { kind: "conversation", model, task: "Pay.", programs: "none", maxTurns: 9, maxTokens: 9 } as const;
  const calls = [{ type: "tool_call", id: "c", tool: "pay", caller: "direct", inputText: '{"n":3}' }];
  const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
  const turn = { type: "turn", text: "", calls, hosted: [], end: { type: "called" }, usage };
  {
    using journal = createSqliteJournal({ path });
    await journal.create({ ...base, ...about });
    await journal.append("talk", 1, [
      { type: "message", from: "model", message: JSON.stringify(turn), at: 1 },
      { type: "call", call: "c", tool: "pay", caller: "direct", decision: "held", inputDigest: "", at: 1 },
    ]);
  }
  const shown = await portcullis(["show", "talk", "--journal", path]);
  expect(shown.stdout).toContain('call c: pay with {"n":3} waits for approval');
  const resumed = await portcullis(["resume", "talk", ...TOOLS, "--journal", path]);
  expect(resumed.code).not.toBe(0);
  expect(resumed.stderr).toContain("--model");
  expect(existsSync(loaded)).toBe(false);
});
