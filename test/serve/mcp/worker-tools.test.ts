import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createRuntime, defineTool, fromMcp } from "portcullis";
import { createMemorySandbox } from "portcullis/testing";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { keyOf, openServer } from "../servers.ts";

const KEYS = { keys: ["ann", "bob"].map((id) => ({ id, key: keyOf(id), tenant: "acme" })) };

/** A server whose tool notes by which keys its handler was called. */
async function serveTool() {
  const keys: string[] = [];
  const pay = defineTool({
    name: "pay",
    description: "Pays an amount",
    inputSchema: z.object({ amount: z.number() }),
    allowedCallers: ["direct"],
    effect: "idempotent",
    execute: ({ amount }, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      return { paid: amount };
    },
  });
  const door = await openServer({ keys: KEYS }, { tools: [pay] });
  const { url } = await door.server.listen({ port: 0 });
  return { keys, door, url: `${url}/mcp` };
}

/** Calls the tool with what the client calls its repetitions by. */
async function payAs(idempotencyKey: unknown, url: string) {
  const headers = { authorization: `Bearer ${keyOf("ann")}` };
  const client = new Client({ name: "raw", version: "1" });
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  const meta = { "portcullis/idempotencyKey": idempotencyKey };
  return await client.callTool({ name: "pay", arguments: { amount: 3 }, _meta: meta });
}

/** A program that calls the tool in a process that has neither its handler nor its secrets. */
async function payFrom(url: string, key: string, execution: string) {
  await using bank = await fromMcp(
    { name: "bank", url, headers: { authorization: `Bearer ${keyOf(key)}` } },
    { allowedCallers: ["programmatic"], effect: "idempotent" },
  );
  await using worker = await createRuntime({ tools: bank.tools, sandbox: createMemorySandbox() });
  const { outcome } = await worker.execute("return await tools.bank.pay({ amount: 3 });", { id: execution });
  return outcome;
}

test("tools behind the MCP server get one idempotency key for each call of a worker, whatever is repeated", async () => {
  const { keys, door, url } = await serveTool();
  await using _ = door;
  expect(await payFrom(url, "ann", "e1")).toMatchObject({ type: "completed" });
  // The same execution by another worker, after the first one has died.
  await payFrom(url, "ann", "e1");
  const [first] = keys;
  expect(keys).toEqual([first, first]);
  await payFrom(url, "ann", "e2");
  // Another key of the server that names the same call.
  await payFrom(url, "bob", "e1");
  expect(new Set(keys)).toHaveLength(3);
  for (const key of keys) expect(key).not.toContain("e1");
});

test("a client's idempotency key that cannot be kept is refused, and its call is not made", async () => {
  const { keys, door, url } = await serveTool();
  await using _ = door;
  for (const key of ["k".repeat(257), "", 7, null])
    await expect(payAs(key, url)).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining("256") as string,
    });
  expect(keys).toEqual([]);
  await payAs("k".repeat(256), url);
  expect(keys).toHaveLength(1);
});
