import { expect, test } from "vitest";
import { createRuntime } from "../../../src/index.ts";
import { createServer } from "../../../src/serve/index.ts";
import { createMemorySandbox } from "../../../src/runtime/testing.ts";
import { tool } from "../../support/tools.ts";

const keyOf = (tenant: string) => ({
  id: tenant,
  key: `${tenant}-0123456789abcdef`,
  tenant,
  scopes: ["run", "read"],
});

test("a client is shown the types that its own tenant has observed, in the list, the search and the declaration of run_program", async () => {
  const list = tool("desk.list", () => ({ ofAcme: 1 }));
  await using runtime = await createRuntime({ tools: [list], sandbox: createMemorySandbox(), observeResults: true });
  const keys = { keys: ["acme", "bolt"].map(keyOf) } as never;
  const server = await createServer(runtime, { keys });
  const ask = async (tenant: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${keyOf(tenant).key}`, "content-type": "application/json" };
    const init = body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) };
    return (await server.fetch(new Request(`http://localhost${path}`, init))).text();
  };
  await ask("acme", "/v1/executions", { program: "await tools.desk.list({}); return 1;" });
  for (const path of ["/v1/tools", "/v1/tools/search?q=list"]) {
    expect(await ask("acme", path)).toContain("Promise<{ ofAcme: number }>");
    const other = await ask("bolt", path);
    expect(other).toContain("desk.list");
    expect(other).not.toContain("ofAcme");
  }
  expect(JSON.parse(await ask("acme", "/v1/tools"))).toMatchObject({
    run_program: { description: expect.stringContaining("ofAcme") as string },
  });
  expect(await ask("bolt", "/v1/tools/search?q=ofAcme")).not.toContain("desk.list");
});
