import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { testOfAll } from "../../../support/all-tests.ts";
import type { BenchReport } from "../../../../src/comparison/report.ts";
import { anthropicWire } from "../../../models/anthropic/wire.ts";
import { geminiWire } from "../../../models/gemini/wire.ts";
import { chatWire } from "../../../models/openai/chat/wire.ts";
import { responsesWire } from "../../../models/openai/responses/wire.ts";
import { startLoopback } from "../../../models/loopback.ts";
import { serve, type Wire, type WireStep } from "../../../models/wire.ts";
import { begin, ownProcess, portcullis as command, root } from "../../command.ts";

const environment = {
  ANTHROPIC_API_KEY: anthropicWire.key,
  OPENAI_API_KEY: responsesWire.key,
  GEMINI_API_KEY: geminiWire.key,
};
const portcullis = (args: readonly string[], cwd = root) => command(args, "", { cwd, environment });

const folder = mkdtempSync(join(tmpdir(), "portcullis-bench-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

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
  input: jsonSchema({ type: "object", properties: { thing: { type: "string" } }, required: ["thing"] }),
  output: jsonSchema({ type: "object", properties: { euros: { type: "number" } } }),
  allowedCallers: ["direct", "programmatic"], effect: "read",
  handler: ({ thing }) => ({ euros: thing.length }),
})];`,
);
const PROGRAM =
  'const [a, b] = await Promise.all(["pen", "book"].map((thing) => tools.shop.price({ thing })));\nreturn a.euros + b.euros;\n';
write("program.js", PROGRAM);
const TASK = { question: "What do a pen and a book cost?", program: "program.js", answer: 7 };
const task = write("my-task.json", TASK);

describe("a task from a file", () => {
  testOfAll("is measured on every wire, printed in tables, and written as JSON and Markdown", async () => {
    const out = join(folder, "out");
    const { code, stdout, stderr } = await portcullis(["bench", "--tools", tools, "--task", task, "--out", out]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/my-task +2 +22 .*direct wins/);
    expect(stdout).toContain("my-task: Tokens of Claude and Gemini are estimates");
    const report = JSON.parse(readFileSync(join(out, "report.json"), "utf8")) as BenchReport;
    expect(report).toMatchObject({ format: 2, settings: { windowTokens: 200_000 } });
    expect(report.comparisons[0]?.providers).toHaveLength(4);
    expect(readFileSync(join(out, "report.md"), "utf8")).toContain("| my-task | 2 | 22 |");
  });

  test("--json prints the report, with the window that was asked for", async () => {
    const options = ["--window", "300", "--json"];
    const { code, stdout } = await portcullis(["bench", "--tools", tools, "--task", task, ...options]);
    expect(code).toBe(0);
    const { settings, comparisons } = JSON.parse(stdout) as BenchReport;
    expect(settings).toMatchObject({ windowTokens: 300 });
    expect(comparisons[0]?.providers[0]?.noRatio).toBe("programmatic+probe does not fit");
  });

  test("a call that needs approval is denied without a terminal, and made with --approve all", async () => {
    const asking = write(
      "asking.mjs",
      readFileSync(tools, "utf8").replace('effect: "read"', 'effect: "read", approval: "always"'),
    );
    const denied = await portcullis(["bench", "--tools", asking, "--task", task]);
    expect(denied.code).toBe(1);
    expect(denied.stderr.match(/There is no terminal to ask on/g)).toHaveLength(1);
    const { code, stderr } = await portcullis(["bench", "--tools", asking, "--task", task, "--approve", "all"]);
    expect([code, stderr]).toEqual([0, ""]);
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
    expect(stdout).toContain("losses first (anthropic;");
    expect(stdout.match(/SDK is not installed/g)).toHaveLength(1);
    expect(stdout).toContain("openai, openai-chat, gemini (npm install openai @google/genai).");
    rmSync(join(copy, "node_modules/@anthropic-ai"));
    const none = await ownProcess(["bench", "capital"], "", { cli: join(copy, "src/cli.ts") });
    expect(none.code).toBe(5);
    expect(none.stderr).toContain("no SDK is installed: npm install openai");
  });
});

test("an open task is measured by its name", async () => {
  const out = join(folder, "open");
  const { code, stdout } = await portcullis(["bench", "capital", "--out", out]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/capital +1 +85 +42 .*direct wins/);
  const { comparisons } = JSON.parse(readFileSync(join(out, "report.json"), "utf8")) as BenchReport;
  expect(comparisons).toMatchObject([{ task: "capital", calls: 1 }]);
});

test("SIGINT ends bench with 130 and without a report", async () => {
  const slow = write(
    "slow.mjs",
    readFileSync(tools, "utf8").replace(
      "({ euros: thing.length })",
      "(process.stderr.write('called\\n'), new Promise(() => {}))",
    ),
  );
  const out = join(folder, "cancelled");
  const { until, hear, finished } = begin(["bench", "--tools", slow, "--task", task, "--out", out]);
  await until("called");
  hear("SIGINT");
  expect((await finished).code).toBe(130);
  expect(existsSync(join(out, "report.json"))).toBe(false);
});

describe("wrong usage gives a sentence and exit code 2", () => {
  write("program.py", "return 7\n");
  write("vast.js", " ".repeat(17 * 1024 * 1024));
  test.each([
    [["nowhere"], "capital, airports"],
    [["--task", task], "--task needs --tools"],
    [["capital", "--tools", tools, "--task", task], "not both"],
    [["--tools", tools, "--task", write("no.json", "{")], "is not JSON"],
    [["--tools", tools, "--task", write("odd.json", { ...TASK, anser: 1 })], "anser"],
    [["--tools", tools, "--task", folder], "is not a regular file"],
    [["--tools", tools, "--task", write("vast.json", { ...TASK, program: "vast.js" })], "at most"],
    [
      ["--tools", tools, "--task", write("python.json", { ...TASK, program: "program.py" })],
      "is Python: add --language python",
    ],
    [["--tools", tools, "--task", task, "--language", "python"], "--language python needs --sandbox docker"],
    [["capital", "--limit", "call=1"], "did you mean calls?"],
    [["capital", "--approve", "later"], "--approve later needs a program that"],
    [["capital", "--out", join(task, "below")], "--out"],
    [["capital", "--live", "--model", "nobody:gpt-6-sol", "--max-usd", "1"], "--model"],
    [["capital", "--live", "--model", "openai:gpt-6-sol"], "--max-usd"],
  ])("%j", async (options, sentence) => {
    const { code, stdout, stderr } = await portcullis(["bench", ...options]);
    expect(stderr).toContain(sentence);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr.trim().split("\n").length).toBeLessThanOrEqual(2);
  });
});

describe("live", () => {
  const WIRES: readonly [string, string, Wire][] = [
    ["anthropic", "claude-test", anthropicWire],
    ["openai", "gpt-test", responsesWire],
    ["openai-chat", "gpt-test", chatWire],
    ["gemini", "gemini-test", geminiWire],
  ];
  const price = { input: 1, output: 5, cacheWrite: 1.25, cacheRead: 0.1, source: "made up" };
  const prices = write("live-prices.json", {
    date: "2026-11-20",
    models: { "claude-test": price, "gpt-test": price, "gemini-test": price },
  });
  const PRICES = ["pen", "book"].map((thing) => ({ tool: "shop_price", input: { thing } }));
  const DIRECT: readonly WireStep[] = [{ calls: PRICES }, { text: "7" }];
  const PROGRAMMATIC: readonly WireStep[] = [{ calls: [{ program: PROGRAM }] }, { text: "```json\n7\n```" }];

  async function live(script: readonly WireStep[], options: readonly string[], [provider, model, wire] = WIRES[1]!) {
    await using served = await serve(wire, script);
    const asked = ["--model", `${provider}:${model}`, "--base-url", served.url, "--prices", prices];
    const limits = options.includes("--max-usd") ? options : ["--max-usd", "1", "--repeat", "1", ...options];
    const command = ["bench", "--tools", tools, "--task", task, "--live", ...asked, ...limits];
    const finished = await portcullis(command, folder);
    return { ...finished, served };
  }

  const CASES = WIRES.flatMap((wire) => [
    [wire[0], "direct", DIRECT, wire] as const,
    [wire[0], "programmatic", PROGRAMMATIC, wire] as const,
  ]);
  test.each(CASES)(
    "%s, %s: a right answer, the provider's usage, and a saved conversation without the key",
    async (provider, mode, script, wire) => {
      const out = join(folder, `live-${provider}-${mode}`);
      const { code, stdout, served } = await live(script, ["--mode", mode, "--out", out], wire);
      expect([code, served.refusals]).toEqual([0, []]);
      expect(stdout).toMatch(new RegExp(`my-task +${mode} +1 of 1 +0`));
      const text = readFileSync(join(out, "live.json"), "utf8");
      const report = JSON.parse(text) as { trials: { usd: number }[] };
      expect(report).toMatchObject({
        model: `${provider}:${wire[1]}`,
        pricesOf: "2026-11-20",
        price,
        trials: [{ mode, right: true, usage: { turns: 2 }, calls: 2 }],
      });
      expect(report.trials[0]?.usd).toBeGreaterThan(0);
      const kept = readFileSync(join(out, `live-my-task-${mode}-1.json`), "utf8");
      expect(JSON.parse(kept)).toMatchObject({ format: 1, ending: { type: "answered" } });
      expect(kept + text).not.toContain(wire[2].key);
    },
  );

  test("each trial is on disk before the next one starts", async () => {
    const out = join(folder, "killed");
    const { promise: silenced, resolve } = Promise.withResolvers<void>();
    const turns = [{ calls: PRICES }, { text: "7" }];
    // Of the second trial nothing ever comes.
    await using server = await startLoopback(() => {
      const turn = turns.shift();
      if (turn) return { type: "events", events: responsesWire.events(turn, turns.length), ending: "whole" };
      resolve();
      return { type: "silent" };
    });
    const asked = ["--model", "openai:gpt-test", "--base-url", server.url, "--prices", prices];
    const mode = ["--mode", "direct", "--repeat", "2", "--max-usd", "1", "--out", out];
    const command = ["bench", "--tools", tools, "--task", task, "--live", ...asked, ...mode];
    const { hear, finished } = begin(command, "", { environment });
    await silenced;
    expect(JSON.parse(readFileSync(join(out, "live.json"), "utf8"))).toMatchObject({
      trials: [{ right: true }],
      summary: [{ trials: 1, right: 1 }],
    });
    hear("SIGINT");
    expect((await finished).code).toBe(130);
  });

  test("without --out a run gets a folder of its own", async () => {
    const { stderr } = await live(DIRECT, ["--mode", "direct"]);
    const [, kept = ""] = /Kept in (bench.live-\S+): live\.json/.exec(stderr) ?? [];
    expect(existsSync(join(folder, kept, "live-my-task-direct-1.json"))).toBe(true);
    expect(readFileSync(join(folder, kept, "live.json"), "utf8")).toContain("usage");
  });

  test("a tool that changes something is declared and not called", async () => {
    const file = write(
      "writing.mjs",
      readFileSync(tools, "utf8")
        .replace('effect: "read"', 'effect: "idempotent"')
        .replace("({ euros: thing.length })", "(process.stderr.write('written'), { euros: 4 })"),
    );
    await using served = await serve(responsesWire, DIRECT);
    const asked = ["--model", "openai:gpt-test", "--base-url", served.url, "--prices", prices];
    const mode = ["--mode", "direct", "--repeat", "1", "--max-usd", "1"];
    const command = ["bench", "--tools", file, "--task", task, "--live", ...asked, ...mode];
    const { stderr } = await portcullis(command, folder);
    expect(stderr).not.toContain("written");
    expect(JSON.stringify(served.asked)).toContain("the call is not made");
  });

  test("no turn and no trial begins once --max-usd is spent, and the report says so", async () => {
    const { stdout, served } = await live(DIRECT, ["--repeat", "5", "--mode", "direct", "--max-usd", "0.0000001"]);
    expect(served.asked).toHaveLength(1);
    expect(stdout).toContain("4 of 5 trials were not begun");
  });
});
