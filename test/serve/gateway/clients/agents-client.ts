import { Agent, OpenAIProvider, programmaticToolCallingTool, Runner, tool } from "@openai/agents";
import { z } from "zod";
import { type Client, DEPOT, QUESTION, STOCK } from "./task.ts";

/** OpenAI's agents. */
export const agents: Client = async (task) => {
  const parameters = z.object({ id: z.number() });
  const agent = new Agent({
    name: "adder",
    instructions: "Add.",
    model: task.model,
    tools: [
      programmaticToolCallingTool(),
      tool({
        name: "depot",
        description: DEPOT,
        parameters,
        allowedCallers: ["programmatic"],
        execute: ({ id }: { id: number }) => JSON.stringify(task.depot(id)),
      } as never),
      tool({ name: "stock", description: STOCK, parameters, execute: ({ id }) => task.stock(id) }),
    ],
  });
  const modelProvider = new OpenAIProvider({ openAIClient: task.gateway.openai() as never, useResponses: true });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  if (!task.isStreamed) return String((await runner.run(agent, QUESTION)).finalOutput);
  const run = await runner.run(agent, QUESTION, { stream: true });
  await run.completed;
  return String(run.finalOutput);
};
