import { expect, test } from "vitest";
import { z } from "zod";
import { makeTool } from "../../../support/tools.ts";
import { KEYS, keyOf, openServer } from "../../servers.ts";

const names = (json: { readonly tools: readonly { readonly name: string }[] }) => json.tools.map(({ name }) => name);

test("a key learns the tools that it may call, and run_program in the words that models get", async () => {
  await using door = await openServer();
  const { json } = await door.ask("GET", "/v1/tools");
  expect(names(json)).toEqual(["bank.pay", "crm.find", "crm.slow", "desk.ask"]);
  expect(json.tools[0]).toEqual({
    name: "bank.pay",
    description: "pays",
    place: "here",
    allowedCallers: ["programmatic"],
    effect: "write",
    approval: "always",
    stub: expect.stringContaining("tools.bank.pay(input: { amount: number })"),
  });
  expect(json.tools[3]).toMatchObject({ name: "desk.ask", client: true });
  const { run_program: own } = await door.runtime.asTool("mcp");
  expect(json.run_program).toMatchObject({ name: "run_program", description: own.config.description });
  expect(json.run_program.inputSchema).toMatchObject({ required: ["code"] });
  expect(json.run_program.description).toContain("tools.crm.find");
  expect([json.languages, json.scopes]).toEqual([["javascript"], ["run", "decide", "read"]]);
});

test("a key with few tools, or few callers, is told of no others, in no place", async () => {
  await using door = await openServer({
    keys: { keys: [...KEYS.keys, { id: "dir", key: keyOf("dir"), tenant: "acme", allowedCallers: ["direct"] }] },
  });
  const { text, json } = await door.ask("GET", "/v1/tools", { key: keyOf("low") });
  expect(names(json)).toEqual(["crm.find"]);
  for (const other of ["bank", "desk", "crm.slow"]) expect(text).not.toContain(other);
  const found = await door.ask("GET", "/v1/tools/search?q=pays", { key: keyOf("low") });
  expect(found.text).not.toContain("bank");
  expect(names((await door.ask("GET", "/v1/tools", { key: keyOf("dir") })).json)).toEqual([]);
});

test("a search finds tools by what they do, with the stub of the language that is asked for", async () => {
  await using door = await openServer();
  const { json } = await door.ask("GET", "/v1/tools/search?q=who%20pays&limit=1");
  expect(json.tools).toEqual([
    { name: "bank.pay", description: "pays", stub: expect.stringContaining("tools.bank.pay(") },
  ]);
  const python = await door.ask("GET", "/v1/tools/search?q=pays&language=python");
  expect(python.json.tools[0].stub).toContain("await tools.bank.pay(");
});

test("thousands of tools come in pages, and run_program names the search in place of their stubs", async () => {
  const tools = Array.from({ length: 1500 }, (_, index) =>
    makeTool({
      name: `many.tool${String(index).padStart(4, "0")}`,
      description: `does thing ${index} of many things that are done`,
      inputSchema: z.object({ id: z.string() }),
    }),
  );
  await using door = await openServer({ keys: { keys: KEYS.keys.filter(({ id }) => id !== "low") } }, { tools });
  const seen: string[] = [];
  let cursor: string | undefined = "";
  let pages = 0;
  while (cursor !== undefined) {
    const { json } = await door.ask("GET", `/v1/tools?limit=1000&cursor=${cursor}`);
    seen.push(...names(json));
    expect(json.search_tools.name).toBe("search_tools");
    cursor = json.cursor as string | undefined;
    pages += 1;
  }
  expect([pages, seen]).toEqual([2, tools.map(({ name }) => name)]);
});

test("a client is shown the types that its own tenant has observed, in the list, the search and the declaration of run_program", async () => {
  const list = makeTool({ name: "desk.list", execute: () => ({ ofAcme: 1 }) });
  const keys = { keys: KEYS.keys.filter(({ id }) => id === "ann" || id === "bob") };
  await using door = await openServer({ keys }, { tools: [list], observeResults: true });
  const told = async (id: string, path: string) => (await door.ask("GET", `/v1/tools${path}`, { key: keyOf(id) })).text;
  await door.run({ program: "await tools.desk.list({}); return 1;" });
  for (const path of ["", "/search?q=list"]) {
    expect(await told("ann", path)).toContain("Promise<{ ofAcme: number }>");
    expect(await told("bob", path)).toContain("desk.list");
    expect(await told("bob", path)).not.toContain("ofAcme");
  }
  expect(JSON.parse(await told("ann", "")).run_program.description).toContain("ofAcme");
  expect(await told("bob", "/search?q=ofAcme")).not.toContain("desk.list");
});
