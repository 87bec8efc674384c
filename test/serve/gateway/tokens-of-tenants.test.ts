import { expect, test } from "vitest";
import { GATEWAY_KEYS, openGateway, type OpenGateway } from "./gateways.ts";

const OPS = { id: "ops", key: "ops-0123456789abcdef", tenant: "ops", scopes: ["admin"] };
const KEYS = { keys: { keys: [...GATEWAY_KEYS.keys, OPS] } };
const linesOf = async ({ server }: OpenGateway) => {
  const asked = new Request("http://localhost/metrics", { headers: { authorization: `Bearer ${OPS.key}` } });
  return (await (await server.fetch(asked)).text()).split("\n");
};

test("what models were charged is counted for each tenant", async () => {
  const usage = { inputTokens: 1000, cachedInputTokens: 200, outputTokens: 50 };
  await using gateway = await openGateway([{ text: "said", usage }], KEYS);
  for (const key of ["con", "cat", "bea"])
    await gateway.openai(key).responses.create({ model: "m", input: "x", stream: false });
  const lines = await linesOf(gateway);
  for (const [tenant, count] of Object.entries({ acme: 2, bolt: 1 }))
    for (const [kind, tokens] of Object.entries({ input: 800, cached_input: 200, output: 50 }))
      expect(lines).toContain(
        `portcullis_gateway_tokens_total{portcullis_tenant="${tenant}",gen_ai_request_model="scripted:m",gen_ai_token_type="${kind}"} ${tokens * count}`,
      );
});

test("calls of a client's own tools are counted, and not told apart by names that it has chosen", async () => {
  await using gateway = await openGateway([{ calls: [{ tool: "mine", input: {} }] }, { text: "x" }], KEYS);
  const tools = [{ name: "mine", input_schema: { type: "object" as const } }];
  const asked = { model: "m", max_tokens: 9, tools };
  const user = { role: "user" as const, content: "hi" };
  const { content } = await gateway.anthropic().messages.create({ ...asked, messages: [user] });
  const [call] = content;
  if (call?.type !== "tool_use") throw new Error("The model calls the tool.");
  const answer = { role: "user" as const, content: [{ type: "tool_result" as const, tool_use_id: call.id }] };
  await gateway.anthropic().messages.create({ ...asked, messages: [user, { role: "assistant", content }, answer] });
  const calls = (await linesOf(gateway)).filter((line) => line.startsWith("portcullis_calls_total"));
  expect(calls).toEqual(['portcullis_calls_total{portcullis_outcome="value"} 1']);
});
