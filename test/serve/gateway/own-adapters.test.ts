import { type AgentReport, anthropic, createRuntime, defineTool, openai } from "portcullis";
import type { Model } from "portcullis/models";
import { createMemorySandbox, scriptedModel, type ScriptedStep } from "portcullis/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { ALL_TESTS } from "../../support/all-tests.ts";
import { openGateway } from "./gateways.ts";

/*
 * Our own adapters against our own surfaces: what one end writes, the other reads. A model asked through the gateway must
 * come to the same as the same model asked directly.
 */

const both = ["direct", "programmatic"] as const;
const tools = () => [
  defineTool({
    name: "depot.units",
    description: "Units of a depot.",
    inputSchema: z.object({ id: z.number() }),
    outputSchema: z.object({ n: z.number() }),
    allowedCallers: both,
    effect: "read",
    execute: ({ id }) => ({ n: id * 10 }),
  }),
  defineTool({
    name: "broken",
    description: "Fails.",
    inputSchema: z.object({}),
    allowedCallers: both,
    effect: "read",
    execute: () => {
      throw new Error("no");
    },
  }),
];

const last: ScriptedStep = ({ results }) => ({
  text: results.map(({ isError }) => (isError ? "failed" : "done")).join(" "),
});

const SCENARIOS: readonly (readonly [title: string, script: readonly ScriptedStep[]])[] = [
  ["an answer without calls", [{ text: "Nothing to do." }]],
  [
    "calls at once in a program",
    [
      {
        programs: [
          "const all = await Promise.all([1, 2, 3].map((id) => tools.NAME({ id }))); return all.map(({ n }) => n);",
        ],
      },
      last,
    ],
  ],
  ["a failed call in a program", [{ programs: ["try { await tools.broken({}); } catch { return 'caught'; }"] }, last]],
  ["a program that fails", [{ programs: ["throw new Error('no')"] }, last]],
  [
    "a program in one turn, and two in the next",
    [
      { text: "A", programs: ["return (await tools.NAME({ id: 1 })).n;"] },
      { text: "B", programs: [2, 3].map((id) => `return (await tools.NAME({ id: ${id} })).n;`) },
      last,
    ],
  ],
  [
    "calls of the model itself",
    // OpenAI's outputs have no mark of a failure.
    [
      { text: "Both.", calls: [{ tool: "NAME", input: { id: 1 } }, { tool: "broken" }] },
      ({ results }) => ({ text: `${results.length} results` }),
    ],
  ],
  [
    "a call and a program in one turn",
    [{ calls: [{ tool: "NAME", input: { id: 1 } }], programs: ["return (await tools.NAME({ id: 2 })).n;"] }, last],
  ],
  ["a call of no tool", [{ calls: [{ tool: "nothing" }] }, last]],
  ["a call whose input does not fit", [{ calls: [{ tool: "NAME", input: { id: "x" } }] }, last]],
];

/** The name that a tool has where the script runs. */
function named(script: readonly ScriptedStep[], name: string): readonly ScriptedStep[] {
  return script.map((step) =>
    typeof step === "function" ? step : (JSON.parse(JSON.stringify(step).replaceAll("NAME", name)) as ScriptedStep),
  );
}

async function run(model: Model, programs: "local" | "hosted"): Promise<AgentReport> {
  await using runtime = await createRuntime({
    tools: tools(),
    sandbox: createMemorySandbox(),
    logger: { error: () => {} },
  });
  return await runtime.agent({ model, task: "Do it.", programs });
}

/** What a conversation came to, however its turns were divided. */
function essence({ ending, calls, transcript }: AgentReport) {
  return {
    // Of a reply with several turns, an adapter takes all texts as the answer.
    ending: ending.type,
    text: transcript.turns.map(({ turn }) => turn.text).join(""),
    calls: calls
      .filter(({ outcome }) => outcome.type !== "refused")
      .map(({ tool, outcome }) => `${tool} ${outcome.type}`)
      .toSorted(),
  };
}

const ADAPTERS: readonly (readonly [
  name: string,
  model: (fetch: typeof globalThis.fetch, stream: boolean) => Model,
])[] = [
  [
    "Anthropic Messages",
    (fetch, stream) =>
      anthropic({ model: "m", apiKey: "con-0123456789abcdef", baseUrl: "http://localhost", fetch, stream, retries: 0 }),
  ],
  [
    "OpenAI Responses",
    (fetch, stream) =>
      openai({ model: "m", apiKey: "con-0123456789abcdef", baseUrl: "http://localhost/v1", fetch, stream, retries: 0 }),
  ],
  [
    "OpenAI Responses, stored",
    (fetch, stream) =>
      openai({
        model: "m",
        apiKey: "con-0123456789abcdef",
        baseUrl: "http://localhost/v1",
        fetch,
        stream,
        store: true,
        retries: 0,
      }),
  ],
];

/** Each adapter in both ways on some of the scenarios, each of which one has; `make test-all` has all of them. */
const triedBy = (adapter: number, stream: boolean) =>
  SCENARIOS.filter((_, index) => ALL_TESTS || (index % ADAPTERS.length === adapter && stream === (index % 2 === 0)));

for (const [adapter, [wire, modelOf]] of ADAPTERS.entries())
  for (const stream of [true, false])
    test.each(triedBy(adapter, stream))(`${wire}, ${stream ? "streamed" : "whole"}: %s`, async (_, script) => {
      const direct = await run(scriptedModel(named(script, "depot.units")), "local");
      await using gateway = await openGateway(named(script, "depot_units"));
      const through = await run(modelOf(gateway.fetch, stream), "hosted");
      expect(essence(through)).toEqual(essence(direct));
      expect(gateway.errors).toEqual([]);
    });
