import { expect, test } from "vitest";
import { z } from "zod";
import { createRuntime, defineTool } from "../../../src/index.ts";
import { createMemorySandbox } from "../../../src/testing.ts";
import { callsOf } from "../../../src/comparison/conversations/calls-of.ts";

const echo = defineTool({
  name: "echo",
  description: "What it is given.",
  input: z.object({ n: z.number() }),
  allowedCallers: ["programmatic"],
  effect: "read",
  handler: ({ n }) => n,
});

const rows = defineTool({
  name: "rows",
  description: "As many rows as it is told, from 1.",
  input: z.object({ n: z.number() }),
  allowedCallers: ["programmatic"],
  effect: "read",
  stream: true,
  *handler({ n }) {
    for (let row = 1; row <= n; row += 1) yield row;
  },
});

/** Inputs of a program's calls, in layers, each sorted: the answers to calls made at once may come in any order. */
async function layersOf(program: string): Promise<number[][]> {
  await using runtime = await createRuntime({ tools: [echo, rows], sandbox: createMemorySandbox() });
  const { execution } = await runtime.execute(program);
  const layers = callsOf(await Array.fromAsync(runtime.journal.read(execution)));
  return layers.map((layer) =>
    layer.map(({ inputText }) => (JSON.parse(inputText) as { n: number }).n).toSorted((one, other) => one - other),
  );
}

test.each([
  ["no calls", "return 1;", []],
  ["calls made at once", "await Promise.all([1, 2, 3].map((n) => tools.echo({ n })));", [[1, 2, 3]]],
  ["one after the other", "for (const n of [1, 2, 3]) await tools.echo({ n });", [[1], [2], [3]]],
  [
    "calls that need all answers of those before",
    "const [a] = await Promise.all([1, 2].map((n) => tools.echo({ n }))); await Promise.all([3, 4].map((n) => tools.echo({ n: n + a })));",
    [
      [1, 2],
      [4, 5],
    ],
  ],
  [
    "two chains side by side",
    "await Promise.all([1, 10].map(async (n) => tools.echo({ n: (await tools.echo({ n })) + 1 })));",
    [
      [1, 10],
      [2, 11],
    ],
  ],
  [
    "a call after a timer, after an answer",
    "await tools.echo({ n: 1 }); await new Promise((wake) => setTimeout(wake, 1)); await tools.echo({ n: 2 });",
    [[1], [2]],
  ],
  [
    "calls that are made with the items of a stream",
    "const made = []; for await (const n of tools.rows({ n: 3 })) made.push(tools.echo({ n: n * 10 })); await Promise.all(made);",
    [[3], [10, 20, 30]],
  ],
])("layers of %s", async (_, program, layers) => {
  expect(await layersOf(program)).toEqual(layers);
});
