import { describe, expect, test } from "vitest";
import { KEYS, keyOf, keysWith, openServer } from "../../servers.ts";
import { ALL_TESTS } from "../../../support/all-tests.ts";
import { CLIENTS, USUAL_CLIENTS } from "../clients.ts";
import { initialize, send } from "./messages.ts";

const PAY = "return await tools.bank.pay({ amount: 7 })";
const SLOW = "return await tools.crm.slow({})";

describe.each(ALL_TESTS ? CLIENTS : USUAL_CLIENTS)("$client", ({ connect }) => {
  test.each([
    [["run", "decide"], 1],
    [["run"], 0],
  ])("the user of a key with the scopes %j is asked about calls %i times", async (scopes, times) => {
    await using door = await openServer({ keys: keysWith("ann", { scopes }) });
    const { url } = await door.server.listen({ port: 0 });
    const asked: string[] = [];
    await using client = await connect({ url: `${url}/mcp`, token: keyOf("ann") }, (message) => {
      asked.push(message);
      return { action: "accept", content: { allow: true } };
    });
    const { text } = await client.call("run_program", { code: PAY });
    expect(asked).toHaveLength(times);
    expect(text.includes('"paid":7')).toBe(times === 1);
  });

  test("changes of a key's rights hold at once, also in sessions that are open", async () => {
    await using door = await openServer({ keys: KEYS });
    const { url } = await door.server.listen({ port: 0 });
    await using client = await connect({ url: `${url}/mcp`, token: keyOf("ann") });
    expect((await client.call("run_program", { code: "return await tools.crm.find({})" })).isError).toBe(false);
    door.server.setKeys(keysWith("ann", { tenant: "bolt", tools: ["crm.slow"] }));
    const answer = await client.call("run_program", { code: "return await tools.crm.find({})" }).catch(() => undefined);
    expect(answer?.isError ?? true).toBe(true);
    const { json } = await door.ask("GET", "/v1/executions", { key: keyOf("ada") });
    expect(json.executions).toHaveLength(1);
  });
});

test("values of a removed key are not given to a key of another tenant with the same id", async () => {
  await using door = await openServer({ keys: KEYS });
  const { url } = await door.server.listen({ port: 0 });
  await using before = await CLIENTS[3].connect({ url: `${url}/mcp`, token: keyOf("ann") });
  const { links } = await before.call("run_program", { code: "return 'x'.repeat(200_000)" });
  expect(await before.read(links[0] ?? "")).toContain("xxx");
  door.server.setKeys(keysWith("ann", { tenant: "bolt", key: keyOf("new") }));
  await using after = await CLIENTS[3].connect({ url: `${url}/mcp`, token: keyOf("new") });
  await expect(after.read(links[0] ?? "")).rejects.toThrow(/not found/i);
});

test("a key runs no more at once than it may, by both doors together", async () => {
  await using door = await openServer({ keys: KEYS });
  const { url } = await door.server.listen({ port: 0 });
  const slow = { program: SLOW, wait: false };
  expect((await door.ask("POST", "/v1/executions", { key: keyOf("one"), body: slow })).status).toBe(202);
  await using client = await CLIENTS[3].connect({ url: `${url}/mcp`, token: keyOf("one") });
  const calls = [client.call("run_program", { code: "return 1" }), client.call("crm_find", {})];
  for (const { text, isError } of await Promise.all(calls))
    expect([isError, text]).toEqual([true, expect.stringContaining("runs 1 executions already")]);
});

test("a length that is none takes no other client's room", async () => {
  await using door = await openServer({ keys: KEYS });
  for (const length of ["x", "-1", ""]) {
    const headers = { "content-length": length };
    expect((await send(door, initialize(), { headers })).status, length).toBe(200);
  }
  const large = { ...initialize(), more: "x".repeat(5 * 1024 * 1024) };
  expect((await send(door, large, { key: "bob" })).status).toBe(413);
});

test("a server that is closed opens no door for MCP", async () => {
  await using door = await openServer({ keys: KEYS });
  await door.server.close();
  expect((await send(door, initialize())).status).toBe(503);
});
