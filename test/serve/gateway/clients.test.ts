import { Agent, programmaticToolCallingTool, OpenAIProvider, Runner, tool } from "@openai/agents";
import { createAnthropic, forwardAnthropicContainerIdFromLastStep } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool as aiTool, type ToolSet } from "ai";
import type { ScriptedStep } from "portcullis/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { openGateway, type OpenGateway } from "./gateways.ts";

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
])(
  "OpenAI's agents answer a program's calls and the model's, %s",
  async (_, isStreamed) => {
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
          execute: ({ id }: { id: number }) => {
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
  },
  30_000,
);

/** The tools as the AI SDK takes them; `forPrograms` is what lets a program call one. */
function aiTools(answered: number[], programs: ToolSet, forPrograms: object): ToolSet {
  const inputSchema = z.object({ id: z.number() });
  return {
    ...programs,
    depot: aiTool({
      description: "Units of a depot.",
      inputSchema,
      providerOptions: forPrograms,
      execute: ({ id }: { id: number }) => {
        answered.push(id);
        return { n: id * 10 };
      },
    } as never),
    stock: aiTool({ description: "Stock.", inputSchema, execute: () => "plenty" }),
  };
}

const API_KEY = "con-0123456789abcdef";

const PROVIDERS: readonly (readonly [name: string, settings: (gateway: OpenGateway, answered: number[]) => object])[] =
  [
    [
      "Anthropic Messages",
      ({ fetch }, answered) => {
        const anthropic = createAnthropic({ baseURL: "http://localhost/v1", apiKey: API_KEY, fetch });
        const programs = { code_execution: anthropic.tools.codeExecution_20260120() };
        return {
          model: anthropic("m"),
          tools: aiTools(answered, programs, { anthropic: { allowedCallers: ["code_execution_20260120"] } }),
          prepareStep: forwardAnthropicContainerIdFromLastStep,
        };
      },
    ],
    ...[true, false].map(
      (store) =>
        [
          `OpenAI Responses, ${store ? "stored" : "not stored"}`,
          ({ fetch }: OpenGateway, answered: number[]) => {
            const openai = createOpenAI({ baseURL: "http://localhost/v1", apiKey: API_KEY, fetch });
            const programs = { programmatic_tool_calling: openai.tools.programmaticToolCalling() };
            return {
              model: openai.responses("m"),
              tools: aiTools(answered, programs, { openai: { allowedCallers: ["programmatic"] } }),
              providerOptions: { openai: { store } },
            };
          },
        ] as const,
    ),
  ];

for (const [name, settings] of PROVIDERS)
  test.each([
    ["whole", false],
    ["streamed", true],
  ])(
    `the AI SDK answers a program's calls and the model's by ${name}, %s`,
    async (_, isStreamed) => {
      await using gateway = await openGateway(SCRIPT);
      const answered: number[] = [];
      const options = {
        ...settings(gateway, answered),
        system: "Add.",
        prompt: "How many?",
        stopWhen: stepCountIs(8),
        maxRetries: 0,
        maxOutputTokens: 1000,
      } as never;
      const text = isStreamed ? await streamText(options).text : (await generateText(options)).text;
      expect(text).toBe('Stock: "plenty"');
      expect(answered.toSorted((a, b) => a - b)).toEqual([1, 2]);
      expect(gateway.errors).toEqual([]);
    },
    30_000,
  );
