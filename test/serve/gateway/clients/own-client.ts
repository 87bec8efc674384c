import { anthropic, createRuntime, defineTool, openai } from "portcullis";
import type { Model } from "portcullis/models";
import { createMemorySandbox } from "portcullis/testing";
import { z } from "zod";
import { API_KEY, type Client, DEPOT, QUESTION, STOCK } from "./task.ts";

/** An application of this package, whose model is an adapter of its own that asks the gateway. */
export const ownClient =
  (adapter: typeof anthropic | typeof openai, baseUrl: string, more: object = {}): Client =>
  async ({ depot, stock, gateway, isStreamed, model: name }) => {
    const about = { model: name, apiKey: API_KEY, baseUrl, fetch: gateway.fetch, stream: isStreamed, retries: 0 };
    const model: Model = adapter({ ...about, ...more });
    const tool = (
      name: string,
      description: string,
      caller: "programmatic" | "direct",
      execute: (id: number) => unknown,
    ) =>
      defineTool({
        name,
        description,
        inputSchema: z.object({ id: z.number() }),
        effect: "read",
        allowedCallers: [caller],
        execute: ({ id }) => execute(id),
      });
    const tools = [tool("depot", DEPOT, "programmatic", depot), tool("stock", STOCK, "direct", stock)];
    await using runtime = await createRuntime({ tools, sandbox: createMemorySandbox() });
    const { ending } = await runtime.agent({ model, task: QUESTION, programs: "hosted" });
    return ending.type === "answered" ? ending.answer : JSON.stringify(ending);
  };

export const ownAnthropic = ownClient(anthropic, "http://localhost");
export const ownOpenai = (store: boolean) => ownClient(openai, "http://localhost/v1", { store });
