import { describe, expect, test } from "vitest";
import { openAiResponsesWire } from "../../../src/comparison/wires/openai-responses-wire.ts";
import { runTrials, type TrialsRequest } from "../../../src/comparison/trials/run-trials.ts";
import { DOLLARS_SPENT } from "../../../src/comparison/trials/trial.ts";
import { createMemorySandbox, scriptedModel, type ScriptedStep } from "../../../src/testing.ts";
import { price } from "../../support/tools.ts";

const PRICE = { input: 1, output: 5, cacheWrite: 1, cacheRead: 0.1, source: "made up" };
const task = (name: string) => ({ name, question: "What does a pen cost?", program: "return 3;", answer: 3 });
const calls = [{ tool: "shop.price", input: { thing: "pen" } }];
const CHEAP: readonly ScriptedStep[] = [
  { calls, usage: { inputTokens: 100, outputTokens: 10 } },
  { text: "3", usage: { inputTokens: 100, outputTokens: 10 } },
];

/** All trials of a request, as texts like `pen direct 1 right`, and how many models were asked. */
async function trials(changes: Partial<TrialsRequest>, script = CHEAP) {
  let connected = 0;
  const ended: string[] = [];
  const request: TrialsRequest = {
    tasks: ["pen", "book"].map((name) => ({ task: task(name), tools: async () => [price] })),
    modes: ["direct"],
    repeat: 2,
    connect: () => ((connected += 1), scriptedModel(script)),
    wire: openAiResponsesWire,
    price: PRICE,
    maxUsd: 1,
    sandbox: createMemorySandbox(),
    signal: new AbortController().signal,
    ...changes,
  };
  for await (const { trial, transcript, round } of runTrials(request)) {
    expect(transcript.task).toContain(task("").question);
    ended.push(`${trial.task} ${trial.mode} ${round} ${trial.void ?? (trial.right ? "right" : "wrong")}`);
  }
  return { ended, connected };
}

test("every task is done in every mode, `repeat` times, each in its own conversation", async () => {
  const { ended, connected } = await trials({ modes: ["direct", "programmatic"] });
  const unused = "no call was programmatic";
  expect(ended).toEqual([
    "pen direct 1 right",
    `pen programmatic 1 ${unused}`,
    "pen direct 2 right",
    `pen programmatic 2 ${unused}`,
    "book direct 1 right",
    `book programmatic 1 ${unused}`,
    "book direct 2 right",
    `book programmatic 2 ${unused}`,
  ]);
  expect(connected).toBe(8);
});

describe("maxUsd bounds all trials together", () => {
  const dear: readonly ScriptedStep[] = [
    { calls, usage: { inputTokens: 50_000, outputTokens: 1000 } },
    { text: "3", usage: { inputTokens: 50_000, outputTokens: 1000 } },
  ];

  test("the cost of a task reduces what later ones may spend, and none starts after one that exceeds it", async () => {
    // One trial costs 0.11: the third has 0.06 left, which pays one turn, and not the next.
    const { ended, connected } = await trials({ maxUsd: 0.28 }, dear);
    expect(ended).toEqual(["pen direct 1 right", "pen direct 2 right", `book direct 1 ${DOLLARS_SPENT}`]);
    expect(connected).toBe(3);
  });

  test("the tools of a task that does not start are not loaded", async () => {
    const loaded: string[] = [];
    const tasks = ["pen", "book"].map((name) => ({
      task: task(name),
      tools: async () => (loaded.push(name), [price]),
    }));
    expect((await trials({ tasks, repeat: 1, maxUsd: 0.000_001 })).ended).toEqual([`pen direct 1 ${DOLLARS_SPENT}`]);
    expect(loaded).toEqual(["pen"]);
  });
});

test("a tool that changes something is not run", async () => {
  let runs = 0;
  const buy = { ...price, effect: "write" as const, handler: () => ((runs += 1), { euros: 3 }) };
  const tasks = [{ task: task("pen"), tools: async () => [buy] }];
  expect((await trials({ tasks })).ended).toEqual(["pen direct 1 right", "pen direct 2 right"]);
  expect(runs).toBe(0);
});

test("an abort between two trials ends them with the signal's reason", async () => {
  const cancel = new AbortController();
  const connect = () => (cancel.abort(new Error("enough")), scriptedModel(CHEAP));
  await expect(trials({ connect, signal: cancel.signal })).rejects.toThrow("enough");
});
