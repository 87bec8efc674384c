import { expect, test } from "vitest";
import { createRuntime, createSqliteJournal, fromMcp } from "../../../src/index.ts";
import { createMemorySandbox } from "../../../src/runtime/testing.ts";
import { servedRaw } from "./served-raw.ts";
import { READ } from "./servers.ts";

test("the version of the protocol and the server's name and version are told", async () => {
  await using source = await fromMcp(await servedRaw("plain"), READ);
  expect(source.server).toEqual({ protocol: "2025-11-25", name: "raw", version: "1" });
});

test("an execution's header has what the server of its tools calls itself", async () => {
  await using source = await fromMcp(await servedRaw("plain"), READ);
  using journal = createSqliteJournal({ path: ":memory:" });
  await using runtime = await createRuntime({ tools: source.tools, journal, sandbox: createMemorySandbox() });
  const { execution } = await runtime.execute("return 1;");
  const [header] = await Array.fromAsync(journal.read(execution));
  expect(header).toMatchObject({ versions: { [`mcp ${source.name}`]: "raw 1 (MCP 2025-11-25)" } });
});

test("a server's name is one line of bounded length without credentials, and an empty version is left out", async () => {
  const env = { TOKEN: "hush-hush-hush" };
  await using source = await fromMcp(
    { ...(await servedRaw("long-name", { env })), headers: { "x-token": env.TOKEN } },
    READ,
  );
  const { name = "", version } = source.server;
  expect(name).toMatch(/^a \[2J b /);
  expect(name).not.toContain(env.TOKEN);
  expect(name).toMatch(/c…$/);
  expect(name.length).toBeLessThanOrEqual(128);
  expect(version).toBeUndefined();
});
