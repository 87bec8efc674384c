import { expect, test } from "vitest";
import { failingProgram, probingProgram } from "../../../src/comparison/conversations/run-task.ts";

async function run(source: string, tools: unknown): Promise<unknown> {
  const AsyncFunction = (async () => {}).constructor as new (
    ...parts: string[]
  ) => (tools: unknown) => Promise<unknown>;
  return new AsyncFunction("tools", source)(tools);
}

test("a probe looks at 600 characters of one result of each tool, with the first input that was given to it", async () => {
  const asked: unknown[] = [];
  const list = (input: unknown) => (asked.push(input), "x".repeat(5000));
  const calls = ["1", "2"].map((page) => ({ tool: "shop.list", inputText: `{"page":${page}}` }));
  const samples = await run(probingProgram([...calls, { tool: "price", inputText: "{}" }], "javascript"), {
    shop: { list },
    price: () => ({ euros: 3 }),
  });
  expect(asked).toEqual([{ page: 1 }]);
  expect(samples).toEqual({ "shop.list": `"${"x".repeat(599)}`, price: '{"euros":3}' });
});

test("a probe reads the first item of a stream, and no more", async () => {
  let given = 0;
  async function* rows() {
    for (;;) yield { row: (given += 1) };
  }
  const probe = probingProgram([{ tool: "rows", inputText: "{}" }], "javascript", (tool) => tool === "rows");
  expect(await run(probe, { rows })).toEqual({ rows: '{"row":1}' });
  expect(given).toBe(1);
});

test("a program that fails is the whole program, and fails before it calls anything", async () => {
  const source = failingProgram("return tools.price({});", "javascript");
  expect(source).toContain("return tools.price({});");
  await expect(run(source, {})).rejects.toThrow(TypeError);
});
