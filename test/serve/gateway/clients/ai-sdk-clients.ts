import { createAnthropic, forwardAnthropicContainerIdFromLastStep } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool, type ToolSet } from "ai";
import { z } from "zod";
import { API_KEY, type Client, DEPOT, MOST_REQUESTS, QUESTION, STOCK, type Task } from "./task.ts";

/** The AI SDK by Anthropic's provider. */
export const aiAnthropic: Client = (task) => {
  const provider = createAnthropic({ baseURL: "http://localhost/v1", apiKey: API_KEY, fetch: task.gateway.fetch });
  const programs = { code_execution: provider.tools.codeExecution_20260120() };
  return runAi(task, {
    model: provider(task.model),
    tools: toolsOf(task, programs, { anthropic: { allowedCallers: ["code_execution_20260120"] } }),
    prepareStep: forwardAnthropicContainerIdFromLastStep,
  });
};

/** The AI SDK by OpenAI's provider. */
export const aiOpenai =
  (store: boolean): Client =>
  (task) => {
    const provider = createOpenAI({ baseURL: "http://localhost/v1", apiKey: API_KEY, fetch: task.gateway.fetch });
    const programs = { programmatic_tool_calling: provider.tools.programmaticToolCalling() };
    return runAi(task, {
      model: provider.responses(task.model),
      tools: toolsOf(task, programs, { openai: { allowedCallers: ["programmatic"] } }),
      providerOptions: { openai: { store } },
    });
  };

/** The tools as the AI SDK takes them; `forPrograms` is what lets a program call one. */
function toolsOf({ depot, stock }: Task, programs: ToolSet, forPrograms: object): ToolSet {
  const inputSchema = z.object({ id: z.number() });
  return {
    ...programs,
    depot: tool({
      description: DEPOT,
      inputSchema,
      providerOptions: forPrograms,
      execute: ({ id }: { id: number }) => depot(id),
    } as never),
    stock: tool({ description: STOCK, inputSchema, execute: ({ id }) => stock(id) }),
  };
}

async function runAi({ isStreamed }: Task, settings: object): Promise<string> {
  const options = {
    ...settings,
    system: "Add.",
    prompt: QUESTION,
    stopWhen: stepCountIs(MOST_REQUESTS),
    maxRetries: 0,
    maxOutputTokens: 1000,
  } as never;
  return isStreamed ? await streamText(options).text : (await generateText(options)).text;
}
