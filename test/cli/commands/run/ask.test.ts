import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { folderWith } from "../../../conversations/files/files.ts";
import { anthropicWire } from "../../../models/anthropic/wire.ts";
import { chatWire } from "../../../models/openai/chat/wire.ts";
import { serve, type Wire, type WireStep } from "../../../models/wire.ts";
import { begin as beginCommand, fixtures, portcullis as command, root } from "../../command.ts";
import { environment, MODELS } from "../../provider-models.ts";

const portcullis = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  command(args, "", { environment: { ...environment, ...more } });
const begin = (args: readonly string[]) => beginCommand(args, "", { environment });

const tools = `${root}examples/flights/tools.ts`;
const agentTools = `${fixtures}agent-tools.ts`;
const PROGRAM = 'return (await tools.airports.get({ iata: "JFK" })).city';
const SCRIPT: readonly WireStep[] = [{ text: "I look.", calls: [{ program: PROGRAM }] }, { text: "It is New York." }];

async function ask(wire: Wire, model: string, script: readonly WireStep[], ...options: readonly string[]) {
  await using served = await serve(wire, script);
  const asked = ["ask", "Where is JFK?", "--model", model, "--tools", tools, "--base-url", served.url];
  const finished = await portcullis([...asked, ...options]);
  return { ...finished, served };
}

test("the model's text goes to standard output, its program and the outcome to standard error", async () => {
  const { code, stdout, stderr, served } = await ask(anthropicWire, "anthropic:claude-test", SCRIPT);
  expect([code, served.refusals, stdout]).toEqual([0, [], "I look.\nIt is New York.\n"]);
  expect(stderr).toContain(PROGRAM);
  expect(stderr).toContain("call from the program: airports.get → object");
  expect(stderr).toMatch(/^\d turns, 1 program, 1 call, 2\d\d tokens in, 40 out$/m);
});

const CORRECTED: readonly WireStep[] = [
  { calls: [{ program: `${PROGRAM.replace("return", "const city =")}; return citi;` }] },
  { calls: [{ program: PROGRAM }] },
  { text: "New York." },
];

test.each([
  [[], true],
  [["--set", "reuseResults=after-failure"], true],
  [["--set", "reuseResults=never"], false],
])("with %j the program after one that failed is answered as that one was: %s", async (options, isGiven) => {
  const { code, served } = await ask(anthropicWire, "anthropic:claude-test", CORRECTED, ...options);
  expect([code, served.refusals]).toEqual([0, []]);
  expect(JSON.stringify(served.asked.at(-1)).includes("answered from before")).toBe(isGiven);
});

test("neither a model's calls nor its program can imitate a line of the command", async () => {
  const forged = "absent\n  call from the program: airports.get → object, 1 ms\r\u001b[1A\u2028x";
  const program = `// 1\n──\nprogram done\nreturn 1`;
  const script: readonly WireStep[] = [
    {
      calls: [
        { tool: forged },
        { program: program.replaceAll("\n──", "\n//─").replace("program done", "/*\nprogram done*/") },
      ],
    },
    { text: "4" },
  ];
  const { code, stderr } = await ask(anthropicWire, "anthropic:claude-test", script);
  expect(code).toBe(0);
  const told = stderr.split("\n").filter((line) => /^(?:\s\scall|call|program)/.test(line));
  expect(told.map((line) => line.replace(/, [\d.]+ ms$/, ""))).toEqual([
    "call: absent   call from the program: airports.get → object, 1 ms\\u000d\\u001b[1A\\u2028x → tool_unknown",
    "program done",
  ]);
});

test("--json prints one document, and --no-stream asks for turns in one piece", async () => {
  const options = ["--json", "--no-stream"];
  const { code, stdout, stderr, served } = await ask(anthropicWire, "anthropic:claude-test", SCRIPT, ...options);
  expect([code, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toMatchObject({
    ending: { type: "answered" },
    answer: "It is New York.",
    turns: [{ turn: { type: "turn" }, results: [{ text: '"New York"' }] }, { results: [] }],
    calls: [{ callId: "toolu_1_0/1", tool: "airports.get", caller: "programmatic" }],
    usage: { turns: 2, calls: 1 },
  });
  expect(served.asked.every(({ body }) => body.stream === false)).toBe(true);
  expect(stdout).not.toContain(anthropicWire.key);
});

const HANG: readonly WireStep[] = [{ calls: [{ tool: "hang" }, { tool: "hang" }] }];
const HANG_IN_PROGRAM: readonly WireStep[] = [{ calls: [{ program: "await tools.hang({})" }] }];

test.each<[NodeJS.Signals, string, readonly WireStep[], number, number]>([
  ["SIGINT", "a tool", HANG, 2, 130],
  ["SIGTERM", "a program", HANG_IN_PROGRAM, 1, 143],
  ["SIGHUP", "a program", HANG_IN_PROGRAM, 1, 129],
])(
  "%s in the midst of %s ends it, every call has a result, and the document is whole",
  async (signal, _, script, results, exitCode) => {
    await using served = await serve(anthropicWire, script);
    const options = ["--model", "anthropic:claude-test", "--tools", agentTools, "--base-url", served.url, "--json"];
    const { until, hear, finished } = begin(["ask", "Wait.", ...options]);
    await until("hanging");
    hear(signal);
    const { code, stdout } = await finished;
    expect(code).toBe(exitCode);
    expect(JSON.parse(stdout)).toMatchObject({
      ending: { type: "cancelled" },
      turns: [{ results: Array.from({ length: results }, () => ({ isError: true })) }],
      calls: [{ tool: "hang", outcome: { type: "aborted" } }],
    });
  },
);

test.each(MODELS)("%s: SIGINT during a stream makes none of its calls, and ends the open line", async (model, wire) => {
  const hang: WireStep = { text: "I wait.", calls: [{ tool: "hang" }], sent: "open" };
  await using served = await serve(wire, [hang]);
  const options = ["--model", model, "--tools", agentTools, "--base-url", served.url];
  const { until, hear, finished } = begin(["ask", "Wait.", ...options]);
  await until("I wait.");
  hear("SIGINT");
  const { code, stdout, stderr } = await finished;
  await served.abandoned;
  expect([code, stdout]).toEqual([130, "I wait.\n"]);
  expect(stderr).toMatch(/^cancelled: The conversation was cancelled\.$/m);
  expect(stderr).not.toContain("hanging");
});

test.each<[readonly WireStep[], readonly string[], number, string]>([
  [[{ end: "refused" }], [], 3, "refused: The model would not do it"],
  [[{ calls: [{ program: "return 1" }] }], ["--set", "maxTurns=1"], 4, "turns_spent: The model had 1 turns"],
  [
    [{ fault: "status", status: 403 }],
    [],
    5,
    "provider_failed: Anthropic does not take the key: check ANTHROPIC_API_KEY",
  ],
])("an ending that is no answer has an exit code of its own, %#", async (script, options, code, message) => {
  const finished = await ask(anthropicWire, "anthropic:claude-test", script, ...options);
  expect([finished.code, finished.stderr]).toEqual([code, expect.stringContaining(message)]);
});

describe("--agent", () => {
  const agent = (fields: string, text = "Answer in one word.") =>
    join(
      folderWith({ "flyer.md": `---\nname: flyer\ndescription: Knows airports\n${fields}---\n${text}\n` }),
      "flyer.md",
    );

  test.each(MODELS)("%s: the file's text is told, and only its tools are declared", async (model, wire) => {
    const call = { tool: "airports_get", input: { iata: "JFK" } };
    await using served = await serve(wire, [{ calls: [call] }, { text: "New York." }]);
    const file = agent(`tools: airports.get\nmodel: ${model}\n`);
    const given = ["--agent", file, "--set", "programs=none", "--base-url", served.url];
    const { code, stdout } = await portcullis(["ask", "Where is JFK?", "--tools", tools, ...given]);
    expect([code, stdout, served.refusals]).toEqual([0, "New York.\n", []]);
    expect(served.asked[0]?.text).toContain("Answer in one word.");
    expect(served.asked[0]?.text).not.toContain("flights");
  });

  test("--model goes before the model of the file", async () => {
    await using served = await serve(chatWire, [{ text: "New York." }]);
    const file = agent("model: anthropic:other\n");
    const given = ["--agent", file, "--model", "openai-chat:gpt-test", "--base-url", served.url];
    expect(await portcullis(["ask", "Where is JFK?", ...given])).toMatchObject({ code: 0, stdout: "New York.\n" });
  });
});
