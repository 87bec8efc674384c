import { tool as langChainTool } from "@langchain/core/tools";
import { expect, test } from "vitest";
import { createRuntime, type Runtime } from "../../src/index.ts";
import type { LoopName } from "../../src/frameworks/loops.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { price, tool } from "../support/tools.ts";

const fillers = Array.from({ length: 100 }, (_, place) => tool(`crm.thing${place}`, () => place));
const open = (tools = [...fillers, price]) => createRuntime({ tools, sandbox: createMemorySandbox() });

/** Calls `search_tools` as each loop does; the text that the model gets, also of a failed call. */
const SEARCHES: { readonly [Loop in LoopName]: (runtime: Runtime, input: object) => Promise<string> } = {
  "ai-sdk": async (runtime, input) =>
    textOf((await runtime.asTool("ai-sdk")).search_tools?.execute(input as { query: string })),
  anthropic: async (runtime, input) => textOf((await runtime.asTool("anthropic")).search_tools?.run(input)),
  "openai-agents": async (runtime, input) =>
    textOf((await runtime.asTool("openai-agents")).search_tools?.invoke(undefined, JSON.stringify(input))),
  async langchain(runtime, input) {
    const search = (await runtime.asTool("langchain")).search_tools;
    return textOf(search && langChainTool(search.func, search.fields).invoke(input));
  },
  async mcp(runtime, input) {
    const result = await (await runtime.asTool("mcp")).search_tools?.handler(input as { query: string }, {});
    return result?.content[0]?.text ?? "";
  },
};

function textOf(result: Promise<string> | undefined): Promise<string> {
  return (result ?? Promise.resolve("")).catch((error: unknown) => (error as Error).message);
}

const loops = Object.keys(SEARCHES) as LoopName[];

test.each(loops)("in the loop of %s a search is a JSON array of tools for programs, and journalled", async (loop) => {
  await using runtime = await open();
  const text = await SEARCHES[loop](runtime, { query: "price of a thing", limit: 1 });
  expect(JSON.parse(text)).toEqual([
    {
      name: "shop.price",
      stub: "tools.shop.price(input: { thing: string }): Promise<{ euros: number }>",
      description: "Price of one thing.",
    },
  ]);
  const [recorded] = await Array.fromAsync(runtime.executions.list());
  const records = await runtime.execution(recorded?.execution ?? "").records();
  expect(records.find(({ type }) => type === "call")).toMatchObject({ tool: "search_tools", decision: "allowed" });
});

test.each(loops)("in the loop of %s a search without a query is a failed call that says why", async (loop) => {
  await using runtime = await open();
  const sentence =
    // LangChain checks the input itself.
    loop === "langchain"
      ? "Received tool input did not match expected schema"
      : "The input of search_tools does not fit: query:";
  expect(await SEARCHES[loop](runtime, { query: "" })).toContain(sentence);
});

test.each(loops)("in the loop of %s there is no search where all stubs are listed", async (loop) => {
  await using runtime = await open([price]);
  expect(Object.keys(await runtime.asTool(loop))).toEqual(["run_program"]);
});
