import { describe, expect, test } from "vitest";
import { runTrials, summariseTrials, type Trial, type TrialsRequest } from "../../src/comparison/trials.ts";
import { createMemorySandbox, scriptedModel, type ScriptedStep } from "../../src/runtime/testing.ts";
import { price } from "../support/tools.ts";

const task = (name: string) => ({ name, question: "What does a pen cost?", program: "return 3;", answer: 3 });
const calls = [{ tool: "shop.price", input: { thing: "pen" } }];
const usage = { inputTokens: 1000, outputTokens: 100 };
const answering = (text: string): readonly ScriptedStep[] => [
  { calls, usage },
  { text, usage: { inputTokens: 2000, outputTokens: 10, cachedInputTokens: 1000 } },
];

async function trials(changes: Partial<TrialsRequest>, script = answering("3")): Promise<readonly Trial[]> {
  const ended: Trial[] = [];
  const request: TrialsRequest = {
    tasks: ["pen", "book"].map((name) => ({ task: task(name), tools: async () => [price] })),
    repeat: 2,
    model: scriptedModel(script),
    maxTokens: 1_000_000,
    runtime: { sandbox: createMemorySandbox() },
    signal: new AbortController().signal,
    ...changes,
  };
  for await (const { trial, transcript } of runTrials(request)) {
    expect(transcript.task).toContain("Answer with the JSON alone.");
    ended.push(trial);
  }
  return ended;
}

const both = (script: readonly ScriptedStep[], changes: Partial<TrialsRequest> = {}) =>
  trials({ tasks: [{ task: task("pen"), tools: async () => [price] }], repeat: 1, ...changes }, script);
const one = async (...of: Parameters<typeof both>) => (await both(...of))[0];

test("every task is done in every mode, `repeat` times, and a trial that does not use its mode is void", async () => {
  const ended = await trials({});
  const pair = (name: string) => [
    [name, "direct", undefined],
    [name, "programmatic", "no call was programmatic"],
  ];
  expect(ended.map((trial) => [trial.task, trial.mode, trial.void])).toEqual([
    ...pair("pen"),
    ...pair("pen"),
    ...pair("book"),
    ...pair("book"),
  ]);
});

describe("a trial", () => {
  test("has its tokens and calls", async () => {
    const trial = await one(answering("3"));
    expect(trial).toMatchObject({ task: "pen", mode: "direct", ending: "answered", right: true, calls: 1 });
    expect(trial?.usage).toMatchObject({ turns: 2, inputTokens: 3000 });
  });

  test.each([
    ["3", true],
    ["```json\n3\n```", true],
    ["It is this:\n```\n3\n```\nMore?", true],
    ["4", false],
    ["It is 3.", false],
  ])("is right if its answer is the JSON, or holds it in a fenced block: %j", async (text, right) => {
    expect(await one(answering(text))).toMatchObject({ right });
  });

  test("of a program needs calls of the program", async () => {
    const program = 'return (await tools.shop.price({ thing: "pen" })).euros;';
    const script = [
      { programs: [program], usage },
      { text: "3", usage },
    ];
    const [direct, programmatic] = await both(script);
    expect(direct?.void).toBe("no call was direct");
    expect(programmatic).toMatchObject({ right: true, calls: 1, void: undefined });
  });

  test("whose provider counts no tokens ends after one turn, because its tokens have no bound", async () => {
    expect(await one([{ calls }, { text: "3", usage }])).toMatchObject({
      ending: "stopped",
      void: "the provider does not say how many tokens it took",
    });
  });
});

test("once the tokens are spent no turn begins, no trial, and no task is loaded", async () => {
  const loaded: string[] = [];
  const tasks = ["pen", "book"].map((name) => ({ task: task(name), tools: async () => (loaded.push(name), [price]) }));
  const dear = [
    { calls, usage: { inputTokens: 50_000, outputTokens: 1000 } },
    { text: "3", usage },
  ];
  // A whole trial takes 52,100: the second has 47,900 left, which its first turn spends.
  const ended = await trials({ tasks, maxTokens: 100_000 }, dear);
  expect(ended.map((trial) => trial.void)).toEqual([undefined, "the tokens are spent"]);
  expect(loaded).toEqual(["pen"]);
});

test("an abort ends them with the signal's reason", async () => {
  const cancel = new AbortController();
  const script: readonly ScriptedStep[] = [() => (cancel.abort(new Error("enough")), { text: "3" })];
  await expect(trials({ signal: cancel.signal }, script)).rejects.toThrow("enough");
});

test("a summary has the medians of the trials that are not void", async () => {
  const trial = (await one(answering("3")))!;
  const having = (tokens: number, right: boolean, changes: Partial<Trial> = {}): Trial => ({
    ...trial,
    right,
    usage: { ...trial.usage, inputTokens: tokens, outputTokens: 0 },
    ...changes,
  });
  const all = [having(100, true), having(300, true), having(200, false), having(9999, true, { void: "broke" })];
  expect(summariseTrials(all)).toMatchObject([
    { task: "pen", mode: "direct", trials: 4, void: 1, right: 2, tokens: 200, tokensPerRightAnswer: 300 },
  ]);
});
