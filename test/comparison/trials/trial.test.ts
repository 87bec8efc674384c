import { describe, expect, test } from "vitest";
import { z } from "zod";
import { openingFor } from "../../../src/agent/prompt/opening.ts";
import { ToolSearch } from "../../../src/tools/search/tool-search.ts";
import {
  DOLLARS_SPENT,
  isRightAnswer,
  runTrial,
  type Trial,
  type TrialRequest,
} from "../../../src/comparison/trials/trial.ts";
import { countTokens } from "../../../src/comparison/index.ts";
import { createRuntime, defineTool } from "../../../src/index.ts";
import type { Model } from "../../../src/models/index.ts";
import { createMemorySandbox, scriptedModel, type ScriptedStep } from "../../../src/testing.ts";
import { contextsOf } from "../../../src/comparison/accounting/accounting.ts";
import { exchangeOf } from "../../../src/comparison/accounting/count-exchange.ts";
import { dollarsOf } from "../../../src/models/prices.ts";
import { summariseTrials } from "../../../src/comparison/trials/summarise-trials.ts";
import { recordLastRequest } from "../../../src/comparison/wires/record-requests.ts";
import { openAiResponsesWire } from "../../../src/comparison/wires/openai-responses-wire.ts";
import { price } from "../../support/tools.ts";

const TASK = { name: "sum", question: "What do a pen and a book cost?", program: "return 7;", answer: 7 };
const PRICE = { input: 1, output: 5, cacheWrite: 1, cacheRead: 0.1, source: "made up" };
const CALLS = ["pen", "book"].map((thing) => ({ tool: "shop.price", input: { thing } }));
const PROGRAM =
  'return (await tools.shop.price({ thing: "pen" })).euros + (await tools.shop.price({ thing: "book" })).euros;';

async function trial(script: readonly ScriptedStep[], changes: Partial<TrialRequest> = {}) {
  await using runtime = await createRuntime({ tools: [price], sandbox: createMemorySandbox() });
  return await runTrial({
    task: TASK,
    mode: "direct",
    model: scriptedModel(script),
    wire: openAiResponsesWire,
    price: PRICE,
    maxUsd: 1,
    maxTurns: 10,
    runtime,
    rawUsage: [{ input_tokens: 100 }],
    count: (text) => countTokens(text),
    signal: new AbortController().signal,
    ...changes,
  });
}

/** A model, and how many tokens each of its turns may write. */
function watched(script: readonly ScriptedStep[]) {
  const maxTokens: number[] = [];
  const scripted = scriptedModel(script);
  const model: Model = {
    ...scripted,
    async converse(opening) {
      const conversation = await scripted.converse(opening);
      return {
        say: (text) => conversation.say(text),
        answer: (results) => conversation.answer(results),
        turn: (request) => (maxTokens.push(request.maxTokens), conversation.turn(request)),
      };
    },
  };
  return { maxTokens, model };
}

describe("a trial", () => {
  test("a right answer has its tokens, dollars, turns and calls", async () => {
    const { trial: one, transcript } = await trial([
      { calls: CALLS, usage: { inputTokens: 1000, outputTokens: 100 } },
      { text: "7", usage: { inputTokens: 2000, outputTokens: 10, cachedInputTokens: 1000 } },
    ]);
    expect(one).toMatchObject({ task: "sum", mode: "direct", ending: "answered", right: true, turns: 2, calls: 2 });
    expect(one.void).toBeUndefined();
    expect(one.usd).toBeCloseTo((1000 + 1000 + 1000 * 0.1 + 110 * 5) / 1e6);
    expect(one.rawUsage).toEqual([{ input_tokens: 100 }]);
    expect(transcript.task).toContain("Answer with the JSON alone.");
  });

  test.each([
    ["direct", [{ text: "7" }], "no call was direct"],
    ["programmatic", [{ programs: ["return 7;"] }, { text: "7" }], "no call was programmatic"],
  ] as const)("a trial without %s calls is void, right or wrong", async (mode, script, cause) => {
    expect((await trial(script, { mode })).trial).toMatchObject({ right: true, void: cause });
  });

  test("a program's calls make a programmatic trial", async () => {
    const { trial: one } = await trial([{ programs: [PROGRAM] }, { text: "7" }], { mode: "programmatic" });
    expect(one).toMatchObject({ right: true, calls: 2 });
    expect(one.void).toBeUndefined();
  });

  test("no turn starts whose input would exceed the dollars", async () => {
    const usage = { inputTokens: 900_000, outputTokens: 0 };
    const script = Array.from({ length: 5 }, () => ({ calls: CALLS, usage }));
    const { trial: one } = await trial(script, { maxUsd: 2 });
    // 0.9 a turn, and as much at least for the next, which reads it again.
    expect(one).toMatchObject({ ending: "cancelled", void: DOLLARS_SPENT });
    expect(one.usd).toBeCloseTo(1.8);
  });

  test("a turn may write only what the remaining dollars pay for", async () => {
    const { maxTokens, model } = watched([{ calls: CALLS, usage: { inputTokens: 5000, outputTokens: 6000 } }]);
    const { trial: one } = await trial([], { model, maxUsd: 0.06 });
    // Less than 60,000 / 5 for what the first request has of bytes, and after it 0.025 are left, of which 11,000 are read again.
    expect(maxTokens[0]).toBeGreaterThan(10_000);
    expect(maxTokens[0]).toBeLessThan(12_000);
    expect(maxTokens[1]).toBeLessThanOrEqual((25_000 - 11_000) / 5);
    expect(one.usd).toBeLessThanOrEqual(0.06);
  });

  test("without the dollars for one turn the model is not asked", async () => {
    const { maxTokens, model } = watched([{ text: "7" }]);
    const { trial: one } = await trial([], { model, maxUsd: 0.001 });
    expect(maxTokens).toEqual([]);
    expect(one).toMatchObject({ void: DOLLARS_SPENT, usd: 0, turns: 0 });
  });

  test.each([0.05, 0.1, 0.3, 1])(
    "of a model that makes a token of each byte and writes all it may, no turn passes US$ %d",
    async (maxUsd) => {
      let read = 0;
      let written = 0;
      const greedy: Model = {
        name: "greedy",
        hostsPrograms: false,
        async converse(opening) {
          let context = Buffer.byteLength(JSON.stringify(opening));
          return {
            say: (message) => void (context += Buffer.byteLength(JSON.stringify(message))),
            answer: (results) => results.forEach(({ text }) => (context += Buffer.byteLength(text))),
            async turn({ maxTokens }) {
              const usage = { inputTokens: context, outputTokens: maxTokens, cachedInputTokens: 0 };
              read += usage.inputTokens;
              written += usage.outputTokens;
              context += maxTokens;
              const call = { type: "tool_call", id: `${read}`, tool: "shop.price", caller: "direct" } as const;
              const calls = [{ ...call, inputText: JSON.stringify({ thing: `${read}`.padEnd(9000, "x") }) }];
              return { type: "turn", text: "", calls, hosted: [], end: { type: "called" }, usage };
            },
          };
        },
      };
      const echo = defineTool({
        name: "shop.price",
        description: "Says what it was told. ".repeat(500),
        input: z.object({ thing: z.string() }),
        allowedCallers: ["direct"],
        effect: "read",
        handler: ({ thing }) => thing,
      });
      await using runtime = await createRuntime({ tools: [echo], sandbox: createMemorySandbox() });
      const { trial: one } = await trial([], {
        model: greedy,
        maxUsd,
        runtime,
      });
      expect(one).toMatchObject({ void: DOLLARS_SPENT });
      expect((read + written * 5) / 1e6).toBeLessThanOrEqual(maxUsd);
      expect((read + written * 5) / 1e6).toBeGreaterThan(maxUsd / 4);
    },
  );

  test("a trial that was cut off for lack of dollars is void", async () => {
    const cut = {
      text: "7",
      end: { type: "cut_off", reason: "length" },
      usage: { inputTokens: 900, outputTokens: 9999 },
    };
    expect(
      (await trial([{ calls: CALLS, usage: { inputTokens: 900 } }, cut as ScriptedStep], { maxUsd: 0.05 })).trial.void,
    ).toBe(DOLLARS_SPENT);
  });

  test("without reported usage a second turn counts at least the estimate of the first", async () => {
    const usd = async (...script: ScriptedStep[]) => (await trial(script)).trial.usd;
    const first = await usd({ text: "7" });
    expect(await usd({ calls: CALLS }, { text: "7" })).toBeGreaterThan(2 * first + 16_000 / 1e6);
  });

  test("a turn without reported usage counts as its maximum, and a refused request costs nothing", async () => {
    const dearest = (16_000 * 5) / 1e6;
    expect((await trial([{ text: "7" }])).trial.usd).toBeGreaterThan(dearest);
    const broken = { code: "interrupted", message: "It broke off." } as const;
    expect((await trial([{ failure: broken }])).trial.usd).toBeGreaterThan(dearest);
    const refused = { code: "overloaded", message: "Later.", status: 529 } as const;
    expect((await trial([{ failure: refused }])).trial.usd).toBe(0);
  });

  test("a provider's failure makes a trial void, with the reason", async () => {
    const failure = { code: "rate_limited", message: "Slow down." } as const;
    expect((await trial([{ failure }])).trial).toMatchObject({
      ending: "provider_failed",
      void: "Slow down.",
      right: false,
    });
  });

  test("the caller's signal ends a trial", async () => {
    const cancel = new AbortController();
    cancel.abort(new Error("enough"));
    await expect(trial([{ text: "7" }], { signal: cancel.signal })).rejects.toThrow("enough");
  });
});

describe("the offline accounting of a recorded trial", () => {
  /** What the provider would count, if it counted just what we do. */
  async function contexts(): Promise<readonly number[]> {
    const { transcript } = await trial([{ calls: CALLS }, { text: "7" }]);
    await using runtime = await createRuntime({ tools: [price], sandbox: createMemorySandbox() });
    const gate = { search: new ToolSearch(runtime.tools) };
    const scope = { gate, language: "javascript", tenant: "", limits: runtime.limits } as const;
    const opening = openingFor(scriptedModel([]), scope, { programs: "none" });
    const request = await recordLastRequest(openAiResponsesWire, opening, transcript.task, transcript.turns);
    return contextsOf(exchangeOf(request, "7", (text) => countTokens(text)));
  }

  test.each([
    [1, true],
    [1.08, true],
    [1.2, false],
    [0.8, false],
  ])("where the provider counts %d times as much, whether it agrees: %s", async (times, agrees) => {
    const [first = 0, second = 0] = await contexts();
    const { offline } = (
      await trial([
        { calls: CALLS, usage: { inputTokens: first * times } },
        { text: "7", usage: { inputTokens: second * times } },
      ])
    ).trial;
    expect(offline?.inputTokens).toBe(first + second);
    expect(offline).toMatchObject({ agrees, exact: true });
    expect(offline?.deviation).toBeCloseTo(1 / times - 1);
  });
});

test.each([
  ["7", true],
  [" 7\n", true],
  ["```json\n7\n```", true],
  ["It is:\n```\n7\n```\nDone.", true],
  ["It is 7.", false],
  ["8", false],
  ["", false],
])("of the words %j the answer is right: %s", (words, right) => {
  expect(isRightAnswer(words, 7)).toBe(right);
});

test("input that was not read from a cache counts as written to one, if that costs more", () => {
  const usage = { inputTokens: 3_000_000, outputTokens: 1_000_000, cachedInputTokens: 1_000_000 };
  expect(dollarsOf(usage, { ...PRICE, cacheWrite: 1.25 })).toBeCloseTo(2 * 1.25 + 0.1 + 5);
  expect(dollarsOf(usage, { ...PRICE, cacheWrite: 0 })).toBeCloseTo(2 + 0.1 + 5);
});

test("a summary counts tokens for each right answer, leaves out void trials, and has median and range", () => {
  const base: Trial = {
    task: "sum",
    mode: "direct",
    ending: "answered",
    answer: "7",
    right: true,
    turns: 2,
    calls: 2,
    ms: 10,
    usage: { inputTokens: 90, outputTokens: 10, cachedInputTokens: 0 },
    rawUsage: [],
    usd: 0.5,
    offline: { inputTokens: 90, deviation: 0, exact: true, agrees: true },
  };
  const more = { inputTokens: 250, outputTokens: 50, cachedInputTokens: 0 };
  const [summary] = summariseTrials([
    base,
    { ...base, right: false, usage: more, turns: 4 },
    { ...base, void: "no call was direct" },
  ]);
  expect(summary).toEqual({
    task: "sum",
    mode: "direct",
    trials: 3,
    void: 1,
    right: 1,
    tokensPerRightAnswer: 400,
    tokens: { median: 200, min: 100, max: 300 },
    turns: { median: 3, min: 2, max: 4 },
    ms: { median: 10, min: 10, max: 10 },
    usd: 1.5,
  });
});
