import { expect, test } from "vitest";
import { GATEWAY_KEYS, openGateway } from "./gateways.ts";

test("what models were charged is counted for each tenant", async () => {
  const usage = { inputTokens: 1000, cachedInputTokens: 200, outputTokens: 50 };
  const ops = { id: "ops", key: "ops-0123456789abcdef", tenant: "ops", scopes: ["admin"] };
  await using gateway = await openGateway([{ text: "said", usage }], { keys: { keys: [...GATEWAY_KEYS.keys, ops] } });
  for (const key of ["con", "cat", "bea"])
    await gateway.openai(key).responses.create({ model: "m", input: "x", stream: false });
  const asked = new Request("http://localhost/metrics", { headers: { authorization: `Bearer ${ops.key}` } });
  const lines = (await (await gateway.server.fetch(asked)).text()).split("\n");
  for (const [tenant, count] of Object.entries({ acme: 2, bolt: 1 }))
    for (const [kind, tokens] of Object.entries({ input: 800, cached_input: 200, output: 50 }))
      expect(lines).toContain(
        `portcullis_gateway_tokens_total{portcullis_tenant="${tenant}",gen_ai_request_model="scripted:m",gen_ai_token_type="${kind}"} ${tokens * count}`,
      );
});
