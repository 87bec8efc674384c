import { createRuntime, type RuntimeOptions } from "portcullis";
import { createServer } from "portcullis/serve";
import { createMemorySandbox, scriptedModel } from "portcullis/testing";
import { expect } from "vitest";
import { GATEWAY_KEYS, SECRET } from "./gateways.ts";

const PROGRAM = `const [a, b] = await Promise.all([tools.depot({ id: 1 }), tools.depot({ id: 2 })]);
return a.n + b.n;`;
const CODE = "code_execution_20260120";
const INPUT = { type: "object", properties: { id: { type: "number" } }, required: ["id"] };
const TOOLS = {
  "/v1/messages": [
    { type: CODE, name: "code_execution" },
    { name: "depot", description: "Units.", input_schema: INPUT, allowed_callers: [CODE] },
  ],
  "/v1/responses": [
    { type: "programmatic_tool_calling" },
    { type: "function", name: "depot", parameters: INPUT, allowed_callers: ["programmatic"] },
  ],
};

interface Item {
  readonly type: string;
  readonly id: string;
  readonly call_id: string;
  readonly caller?: unknown;
}

interface Message {
  readonly content: readonly Item[];
  readonly container: { readonly id: string };
}

type Ask = (path: keyof typeof TOOLS, body: object) => Promise<string>;

/** What a client of Anthropic's wire gets for its program, whose calls it answers with this number. */
async function askMessages(ask: Ask, n: number): Promise<string> {
  const question = { role: "user", content: `Twice ${n}?` };
  const first = await ask("/v1/messages", { max_tokens: 100, messages: [question] });
  const { content, container } = JSON.parse(first) as Message;
  const results = content.flatMap(({ type, id }) =>
    type === "tool_use" ? [{ type: "tool_result", tool_use_id: id, content: `{"n":${n}}` }] : [],
  );
  const messages = [question, { role: "assistant", content }, { role: "user", content: results }];
  return ask("/v1/messages", { max_tokens: 100, messages, container: container.id, stream: true });
}

/** The same on OpenAI's wire. */
async function askResponses(ask: Ask, n: number): Promise<string> {
  const question = { role: "user", content: `Twice ${n}?` };
  const first = await ask("/v1/responses", { store: false, input: [question] });
  const { output } = JSON.parse(first) as { readonly output: readonly Item[] };
  const results = output.flatMap(({ type, call_id, caller }) =>
    type === "function_call" ? [{ type: `${type}_output`, call_id, output: `{"n":${n}}`, caller }] : [],
  );
  return ask("/v1/responses", { store: false, input: [question, ...output, ...results], stream: true });
}

/** What so many clients of both wires are answered, all of which ask at once. */
export async function answersOf(clients: number, options: Partial<RuntimeOptions> = {}): Promise<readonly string[]> {
  await using runtime = await createRuntime({ tools: [], sandbox: createMemorySandbox(), ...options });
  const model = scriptedModel([{ programs: [PROGRAM] }, { text: "Done." }], { name: "scripted:m" });
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const server = await createServer(runtime, { model, keys: GATEWAY_KEYS, secrets: [SECRET], onError });
  try {
    const { url } = await server.listen({ port: 0 });
    const ask: Ask = async (path, body) => {
      const response = await fetch(new URL(path, url), {
        method: "POST",
        headers: {
          authorization: "Bearer con-0123456789abcdef",
          "content-type": "application/json",
          "anthropic-version": "2023-06-01",
        },
        body: JSON.stringify({ model: "m", tools: TOOLS[path], ...body }),
      });
      const text = await response.text();
      expect([response.status, text]).toEqual([200, expect.any(String)]);
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
