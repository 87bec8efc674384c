import { Agent, programmaticToolCallingTool, OpenAIProvider, Runner, tool } from "@openai/agents";
import type { ScriptedStep } from "portcullis/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { openGateway } from "./gateways.ts";

const SUM = `const [a, b] = await Promise.all([tools.depot({ id: 1 }), tools.depot({ id: 2 })]);
return a.n + b.n;`;

const SCRIPT: readonly ScriptedStep[] = [
  { text: "I will add.", programs: [SUM] },
  ({ results }) => ({ text: `It is ${results[0]?.text}.`, calls: [{ tool: "stock", input: { id: 3 } }] }),
  ({ results }) => ({ text: `Stock: ${results[0]?.text}` }),
];

test.each([
  ["whole", false],
  ["streamed", true],
])("OpenAI's agents answer a program's calls and the model's, %s", async (_, isStreamed) => {
  await using gateway = await openGateway(SCRIPT);
  const input = z.object({ id: z.number() });
  const answered: number[] = [];
  const agent = new Agent({
    name: "adder",
    instructions: "Add.",
    model: "m",
    tools: [
      programmaticToolCallingTool(),
      tool({
        name: "depot",
        description: "Units of a depot.",
        parameters: input,
        allowedCallers: ["programmatic"],
        execute: ({ id }) => {
          answered.push(id);
          return JSON.stringify({ n: id * 10 });
        },
      } as never),
      tool({ name: "stock", description: "Stock.", parameters: input, execute: () => "plenty" }),
    ],
  });
  const modelProvider = new OpenAIProvider({ openAIClient: gateway.openai() as never, useResponses: true });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  if (isStreamed) {
    const run = await runner.run(agent, "How many?", { stream: true });
    await run.completed;
    expect(run.finalOutput).toBe('Stock: "plenty"');
  } else {
    const { finalOutput } = await runner.run(agent, "How many?");
    expect(finalOutput).toBe('Stock: "plenty"');
  }
  expect(answered.toSorted((a, b) => a - b)).toEqual([1, 2]);
  expect(gateway.errors).toEqual([]);
}, 30_000);
