import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { scriptedModel } from "portcullis/testing";
import { expect, test } from "vitest";
import { testOfAll } from "../../../support/all-tests.ts";
import { openGateway, PROGRAMS, RESPONSES_PROGRAMS } from "../gateways.ts";
import { aiAnthropic, aiOpenai } from "./ai-sdk-clients.ts";
import { toolRunner } from "./anthropic-clients.ts";
import { agents } from "./agents-client.ts";
import { ownAnthropic, ownOpenai } from "./own-client.ts";
import { type Client, QUESTION } from "./task.ts";

const TOOLS = [PROGRAMS];

/** A program that asks no client, then the answer. A request may take one turn. */
async function pausing(client: Client, isStreamed: boolean) {
  const model = scriptedModel([{ text: "I compute.", programs: ["return 6 * 7"] }, { text: "It is 42." }], {
    name: "scripted:m",
  });
  await using gateway = await openGateway(model, { maxTurns: 1 });
  const unused = () => {
    throw new Error("No tool is called.");
  };
  return await client({ gateway, model: "m", isStreamed, depot: unused, stock: unused });
}

/** As the vendor documents it: the content is sent back as it is. */
const messages: Client = async ({ gateway, model, isStreamed }) => {
  const client = gateway.anthropic();
  const history: Anthropic.MessageParam[] = [{ role: "user", content: QUESTION }];
  for (let requests = 0; requests < 4; requests += 1) {
    const body = { model, max_tokens: 100, tools: TOOLS, messages: history };
    const message = isStreamed ? await client.messages.stream(body).finalMessage() : await client.messages.create(body);
    const last = message.content.at(-1);
    if (message.stop_reason === "end_turn") return last?.type === "text" ? last.text : "";
    expect([requests, message.stop_reason, last?.type]).toEqual([0, "pause_turn", "code_execution_tool_result"]);
    history.push({ role: "assistant", content: message.content as Anthropic.ContentBlockParam[] });
  }
  return "";
};

const responses =
  (store: boolean): Client =>
  async ({ gateway, model, isStreamed }) => {
    const client = gateway.openai();
    const tools = [RESPONSES_PROGRAMS];
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: QUESTION }];
    const ask = (body: OpenAI.Responses.ResponseCreateParamsNonStreaming) =>
      isStreamed ? client.responses.stream(body as never).finalResponse() : client.responses.create(body);
    const first = await ask({ model, store, tools, input });
    expect([first.status, first.output.at(-1)?.type]).toEqual(["completed", "program_output"]);
    const after = store
      ? { input: [], previous_response_id: first.id }
      : { input: [...input, ...(first.output as OpenAI.Responses.ResponseInputItem[])] };
    return (await ask({ model, store, tools, ...after })).output_text;
  };

/** `ends`: the client takes the answer for the last one. */
const CLIENTS: readonly (readonly [name: string, client: Client, ends?: "ends"])[] = [
  ["@anthropic-ai/sdk: messages", messages],
  ["@anthropic-ai/sdk: toolRunner", toolRunner],
  ["openai: responses, stored", responses(true)],
  ["openai: responses, not stored", responses(false)],
  ["@openai/agents", agents, "ends"],
  ["ai with @ai-sdk/anthropic", aiAnthropic, "ends"],
  ["ai with @ai-sdk/openai", aiOpenai(true), "ends"],
  ["this package: anthropic()", ownAnthropic],
  ["this package: openai()", ownOpenai(true)],
];

/** One client of each wire, and one that ends; the others in `make test-all`. */
const USUAL = new Set(["@anthropic-ai/sdk: messages", "openai: responses, not stored", "@openai/agents"]);

for (const [name, client, ends] of CLIENTS)
  (USUAL.has(name) ? test : testOfAll).each([false, true])(
    `an answer that the server's bounds end ${ends ?? "goes on"}: ${name}, streamed: %s`,
    async (isStreamed) => {
      const text = ends ? "I compute." : "It is 42.";
      expect(await pausing(client, isStreamed)).toBe(text);
    },
  );
