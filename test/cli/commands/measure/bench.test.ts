import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { testOfAll } from "../../../support/all-tests.ts";
import type { BenchReport } from "../../../../src/comparison/report.ts";
import { responsesWire } from "../../../models/openai/responses/wire.ts";
import { startLoopback } from "../../../models/loopback.ts";
import { serve, type WireStep } from "../../../models/wire.ts";
import { begin, ownProcess, portcullis as command, root } from "../../command.ts";
import { environment, MODELS } from "../../provider-models.ts";
import { newFolder } from "../../../support/new-folder.ts";

const portcullis = (args: readonly string[], cwd = root) => command(args, "", { cwd, environment });

const folder = newFolder();

const write = (name: string, content: unknown) => {
  const file = join(folder, name);
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
};

const tools = write(
  "tools.mjs",
  `import { defineTool, jsonSchema } from ${JSON.stringify(`${root}src/index.ts`)};
export default [defineTool({
  name: "shop.price", description: "Price of one thing.",
  inputSchema: jsonSchema({ type: "object", properties: { thing: { type: "string" } }, required: ["thing"] }),
  outputSchema: jsonSchema({ type: "object", properties: { euros: { type: "number" } } }),
  allowedCallers: ["direct", "programmatic"], effect: "read",
  execute: ({ thing }) => ({ euros: thing.length }),
})];`,
);
const PROGRAM =
  'const [a, b] = await Promise.all(["pen", "book"].map((thing) => tools.shop.price({ thing })));\nreturn a.euros + b.euros;\n';
write("program.js", PROGRAM);
const TASK = { question: "What do a pen and a book cost?", program: "program.js", answer: 7 };
const task = write("my-task.json", TASK);

describe("a task from a file", () => {
  test("is measured on every wire, and printed as a table", async () => {
    const { code, stdout, stderr } = await portcullis(["bench", "--tools", tools, "--task", task]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/my-task +2 +22 .*direct wins/);
    expect(stdout).toContain("my-task: Tokens of Claude and Gemini are estimates");
  });

  test("--json prints the report", async () => {
    const { code, stdout } = await portcullis(["bench", "--tools", tools, "--task", task, "--json"]);
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as BenchReport;
    expect(report).toMatchObject({ format: 3, comparisons: [{ task: "my-task", calls: 2, resultBytes: 22 }] });
    expect(report.comparisons[0]?.providers).toHaveLength(4);
  });

  test("a call that needs approval is denied, and that is said", async () => {
    const asking = write(
      "asking.mjs",
      readFileSync(tools, "utf8").replace('effect: "read"', 'effect: "read", approval: "always"'),
    );
    const { code, stdout } = await portcullis(["bench", "--tools", asking, "--task", task]);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/Wrong answer of programmatic.*approv/)]);
  });

  testOfAll("providers whose SDK is not installed are left out, with one note", async () => {
    const copy = join(folder, "without-sdks");
    for (const part of ["src", "bridge", "examples", "package.json"])
      cpSync(join(root, part), join(copy, part), { recursive: true });
    mkdirSync(join(copy, "node_modules"));
    for (const name of readdirSync(join(root, "node_modules")))
      if (name !== "@google" && name !== "openai")
        symlinkSync(join(root, "node_modules", name), join(copy, "node_modules", name));
    const { code, stdout, stderr } = await ownProcess(["bench", "capital", "airports"], "", {
      cli: join(copy, "src/cli.ts"),
    });
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.match(/SDK is not installed/g)).toHaveLength(1);
    expect(stdout).toContain("openai, openai-chat, gemini (npm install openai @google/genai).");
    rmSync(join(copy, "node_modules/@anthropic-ai"));
    const none = await ownProcess(["bench", "capital"], "", { cli: join(copy, "src/cli.ts") });
    expect([none.code, none.stderr]).toEqual([5, expect.stringContaining("no SDK is installed: npm install openai")]);
  });
});

test("an open task is measured by its name", async () => {
  const { code, stdout } = await portcullis(["bench", "capital"]);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/capital +1 +85 +42 .*direct wins/)]);
});

test("SIGINT ends bench with 130 and without a report", async () => {
  const slow = write(
    "slow.mjs",
    readFileSync(tools, "utf8").replace(
      "({ euros: thing.length })",
      "(process.stderr.write('called\\n'), new Promise(() => {}))",
    ),
  );
  const { until, hear, finished } = begin(["bench", "--tools", slow, "--task", task]);
  await until("called");
  hear("SIGINT");
  expect(await finished).toMatchObject({ code: 130, stdout: "" });
});

describe("live", () => {
  const PRICES = ["pen", "book"].map((thing) => ({ tool: "shop_price", input: { thing } }));
  const DIRECT: readonly WireStep[] = [{ calls: PRICES }, { text: "7" }];

  async function live(script: readonly WireStep[], options: readonly string[], [model, wire] = MODELS[1]!) {
    await using served = await serve(wire, script);
    const asked = ["--model", model, "--base-url", served.url];
    const command = ["bench", "--tools", tools, "--task", task, "--live", ...asked, ...options];
    const cwd = mkdtempSync(join(folder, "live-"));
    const finished = await portcullis(command, cwd);
    const [, kept = ""] = /Kept in (bench.live-\S+): live\.json/.exec(finished.stderr) ?? [];
    return { ...finished, served, kept: (file: string) => readFileSync(join(cwd, kept, file), "utf8") };
  }
  const ONCE = ["--max-tokens", "1000000", "--repeat", "1"];

  // The server plays one conversation: the second trial finds that nothing is left to be said.
  test.each(MODELS)("%s: a right answer, its usage, a void trial, conversations without the key", async (...wire) => {
    const [model, { key }] = wire;
    const { code, stdout, kept } = await live(DIRECT, ONCE, wire);
    expect(code).toBe(0);
    const text = kept("live.json");
    expect(JSON.parse(text)).toMatchObject({
      model,
      maxTokens: 1_000_000,
      trials: [
        { mode: "direct", right: true, usage: { turns: 2 }, calls: 2 },
        { mode: "programmatic", right: false, void: expect.any(String) as string },
      ],
    });
    expect(stdout).toMatch(/my-task +direct +1 of 1 +0/);
    expect(stdout).toMatch(/my-task +programmatic +0 of 0 +1/);
    const conversation = kept("live-my-task-direct-1.json");
    expect(JSON.parse(conversation)).toMatchObject({ format: 1, ending: { type: "answered" } });
    expect(conversation + text).not.toContain(key);
  });

  test("each trial is on disk before the next one starts", async () => {
    const cwd = mkdtempSync(join(folder, "killed-"));
    const { promise: silenced, resolve } = Promise.withResolvers<void>();
    const turns = [{ calls: PRICES }, { text: "7" }];
    // Of the second trial nothing ever comes.
    await using server = await startLoopback(() => {
      const turn = turns.shift();
      if (turn) return { type: "events", events: responsesWire.events(turn, turns.length), ending: "whole" };
      resolve();
      return { type: "silent" };
    });
    const asked = ["--model", "openai:gpt-test", "--base-url", server.url];
    const command = ["bench", "--tools", tools, "--task", task, "--live", ...asked, "--max-tokens", "1000000"];
    const { hear, finished } = begin(command, "", { environment, cwd });
    await silenced;
    const [kept = ""] = readdirSync(join(cwd, "bench"));
    expect(JSON.parse(readFileSync(join(cwd, "bench", kept, "live.json"), "utf8"))).toMatchObject({
      trials: [{ right: true }],
      summary: [{ trials: 1, right: 1 }],
    });
    hear("SIGINT");
    expect((await finished).code).toBe(130);
  });

  test("a tool that changes something is declared and not called", async () => {
    const file = write(
      "writing.mjs",
      readFileSync(tools, "utf8")
        .replace('effect: "read"', 'effect: "idempotent"')
        .replace("({ euros: thing.length })", "(process.stderr.write('written'), { euros: 4 })"),
    );
    await using served = await serve(responsesWire, [...DIRECT, ...DIRECT]);
    const asked = ["--model", "openai:gpt-test", "--base-url", served.url];
    const command = ["bench", "--tools", file, "--task", task, "--live", ...asked, ...ONCE];
    const { stderr } = await portcullis(command, folder);
    expect(stderr).not.toContain("written");
    expect(JSON.stringify(served.asked)).toContain("the call is not made");
  });

  test("no turn and no trial begins once --max-tokens is spent, and the report says so", async () => {
    const { stdout, served } = await live(DIRECT, ["--max-tokens", "1"]);
    expect(served.asked).toHaveLength(1);
    expect(stdout).toContain("5 of 6 trials were not begun");
  });
});
