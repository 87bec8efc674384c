import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { createRuntime, type RuntimeOptions } from "portcullis";
import { createServer } from "portcullis/serve";
import { createMemorySandbox, scriptedModel } from "portcullis/testing";
import { expect } from "vitest";
import {
  answered,
  functionTool,
  GATEWAY_KEYS,
  messageTool,
  outputsOf,
  post,
  PROGRAMS,
  RESPONSES_PROGRAMS,
  SECRET,
  SUM,
} from "./gateways.ts";

const TOOLS = {
  "/v1/messages": [PROGRAMS, messageTool("depot")],
  "/v1/responses": [RESPONSES_PROGRAMS, functionTool("depot")],
};

type Ask = (path: keyof typeof TOOLS, body: object) => Promise<string>;

/** What a client of Anthropic's wire gets for its program, whose calls it answers with this number. */
async function askMessages(ask: Ask, n: number): Promise<string> {
  const question = { role: "user" as const, content: `Twice ${n}?` };
  const first = JSON.parse(await ask("/v1/messages", { max_tokens: 100, messages: [question] })) as Anthropic.Message;
  const messages = answered([question], first, `{"n":${n}}`);
  return ask("/v1/messages", { max_tokens: 100, messages, container: first.container?.id, stream: true });
}

/** The same on OpenAI's wire. */
async function askResponses(ask: Ask, n: number): Promise<string> {
  const question = { role: "user", content: `Twice ${n}?` };
  const first = JSON.parse(
    await ask("/v1/responses", { store: false, input: [question] }),
  ) as OpenAI.Responses.Response;
  const input = [question, ...first.output, ...outputsOf(first, `{"n":${n}}`)];
  return ask("/v1/responses", { store: false, input, stream: true });
}

/** What so many clients of both wires are answered, all of which ask at once. */
export async function answersOf(clients: number, options: Partial<RuntimeOptions> = {}): Promise<readonly string[]> {
  await using runtime = await createRuntime({ tools: [], sandbox: createMemorySandbox(), ...options });
  const model = scriptedModel([{ programs: [SUM] }, { text: "Done." }], { name: "scripted:m" });
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const server = await createServer(runtime, { model, keys: GATEWAY_KEYS, secrets: [SECRET], onError });
  try {
    const { url } = await server.listen({ port: 0 });
    const ask: Ask = async (path, body) => {
      const own = (_: unknown, init?: RequestInit) => fetch(new URL(path, url), init);
      const { status, text } = await post({ fetch: own }, { model: "m", tools: TOOLS[path], ...body }, { path });
      expect([status, text]).toEqual([200, expect.any(String)]);
      return text;
    };
    const one = (client: number) => (client % 2 === 0 ? askMessages(ask, client) : askResponses(ask, client));
    const answers = await Promise.all(Array.from({ length: clients }, (_, client) => one(client)));
    expect(errors).toEqual([]);
    return answers;
  } finally {
    await server.close({ drainMs: 0 });
  }
}

/** Holds that each client has the answer to its own question. */
export function expectRight(answers: readonly string[]): void {
  for (const [client, text] of answers.entries()) {
    // The result of the program is a text in JSON.
    expect(text).toMatch(new RegExp(`"(?:stdout|result)":"${2 * client}[^0-9]`));
    expect(text).toContain("Done.");
  }
}
