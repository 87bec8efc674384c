import { RateLimitError as AnthropicLimit } from "@anthropic-ai/sdk";
import { RateLimitError } from "openai";
import { expect, test } from "vitest";
import { GATEWAY_KEYS, openGateway } from "./gateways.ts";

const [first, ...rest] = GATEWAY_KEYS.keys;
const RATED = { keys: [{ ...first, rate: { calls: 2, perMs: 6_000_000 } }, ...rest] };

test("clients learn how their key stands in the words of each vendor, also from what is refused", async () => {
  await using gateway = await openGateway([{ text: "said" }], { keys: RATED });
  const asked = { model: "m", max_tokens: 10, messages: [{ role: "user" as const, content: "x" }] };
  const { response } = await gateway.anthropic().messages.create(asked).withResponse();
  const told = (headers: Headers, of: string) =>
    ["limit", "remaining", "reset"].map((what) => headers.get(of.replace("*", what)));
  const [limit, remaining, reset] = told(response.headers, "anthropic-ratelimit-requests-*");
  expect([limit, remaining]).toEqual(["2", "1"]);
  expect(reset).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  expect(Date.parse(reset ?? "") - Date.now()).toBeLessThanOrEqual(3_000_000);
  const created = await gateway.openai().responses.create({ model: "m", input: "x" }).withResponse();
  expect(told(created.response.headers, "x-ratelimit-*-requests").slice(0, 2)).toEqual(["2", "0"]);
  expect(told(created.response.headers, "x-ratelimit-*-requests")[2]).toMatch(/^(?:\d+m)?\d+(?:\.\d+)?s$/);
  const refused = await gateway
    .anthropic()
    .messages.create(asked)
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(AnthropicLimit);
  const { headers } = refused as AnthropicLimit;
  expect(headers?.get("anthropic-ratelimit-requests-remaining")).toBe("0");
  expect(Number(headers?.get("retry-after"))).toBeGreaterThan(0);
  const other = await gateway
    .openai()
    .responses.create({ model: "m", input: "x" })
    .catch((error: unknown) => error);
  expect(other).toBeInstanceOf(RateLimitError);
  expect((other as RateLimitError).headers?.get("x-ratelimit-remaining-requests")).toBe("0");
  const free = await gateway.anthropic("cat").messages.create(asked).withResponse();
  expect(free.response.headers.has("anthropic-ratelimit-requests-limit")).toBe(false);
});

test("what models were charged is counted for each tenant, and priced if the model has a price", async () => {
  const usage = { inputTokens: 1000, cachedInputTokens: 200, outputTokens: 50 };
  const prices = {
    date: "2026-11-26",
    models: { m: { input: 5, output: 20, cacheWrite: 5, cacheRead: 0.5, source: "-" } },
  };
  const keys = { keys: [...rest, first, { id: "ops", key: "ops-0123456789abcdef", tenant: "ops", scopes: ["admin"] }] };
  for (const known of [true, false]) {
    const given = known ? { prices } : {};
    await using gateway = await openGateway([{ text: "said", usage }], { keys, ...given });
    for (const key of ["con", "cat", "bea"])
      await gateway.openai(key).responses.create({ model: "m", input: "x", stream: false });
    const asked = new Request("http://localhost/metrics", {
      headers: { authorization: "Bearer ops-0123456789abcdef" },
    });
    const lines = (await (await gateway.server.fetch(asked)).text()).split("\n");
    const of = (tenant: string) => `portcullis_tenant="${tenant}",gen_ai_request_model="scripted:m"`;
    for (const [tenant, count] of [
      ["acme", 2],
      ["bolt", 1],
    ] as const) {
      for (const [kind, tokens] of [
        ["input", 800],
        ["cached_input", 200],
        ["output", 50],
      ] as const)
        expect(lines).toContain(
          `portcullis_gateway_tokens_total{${of(tenant)},gen_ai_token_type="${kind}"} ${tokens * count}`,
        );
      const cost = lines.find((line) => line.startsWith(`portcullis_gateway_cost_total{${of(tenant)}}`));
      if (known)
        expect(Number(cost?.split(" ").at(-1))).toBeCloseTo((count * (800 * 5 + 200 * 0.5 + 50 * 20)) / 1e6, 9);
      else expect(cost).toBeUndefined();
    }
  }
});
