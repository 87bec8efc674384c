import { createRuntime, defineTool } from "portcullis";
import type { Model } from "portcullis/models";
import { createMemorySandbox } from "portcullis/testing";
import { z } from "zod";
import { DEPOT, QUESTION, STOCK, type Task } from "./task.ts";

/** An application of this package, whose model is asked through the gateway. */
export async function ownClient({ depot, stock }: Task, model: Model): Promise<string> {
  const input = z.object({ id: z.number() });
  const tools = [
    defineTool({
      name: "depot",
      description: DEPOT,
      inputSchema: input,
      effect: "read",
      allowedCallers: ["programmatic"],
      execute: ({ id }) => depot(id),
    }),
    defineTool({
      name: "stock",
      description: STOCK,
      inputSchema: input,
      effect: "read",
      allowedCallers: ["direct"],
      execute: ({ id }) => stock(id),
    }),
  ];
  await using runtime = await createRuntime({ tools, sandbox: createMemorySandbox() });
  const { ending } = await runtime.agent({ model, task: QUESTION, programs: "hosted" });
  return ending.type === "answered" ? ending.answer : JSON.stringify(ending);
}
