import { expect, test } from "vitest";
import { z } from "zod";
import { PortcullisError, type Tool } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/runtime/testing.ts";
import { agentOf, executed, journalWith, makeTool, runtimeWith } from "../../support/index.ts";
import { resultsBefore, talk } from "../talk.ts";

const ROW = z.object({ id: z.number(), text: z.string() });

/** Yields `count` rows with a text of so many characters, both of which a call may say. */
const rows = makeTool({
  name: "rows",
  inputSchema: z.object({ count: z.number().default(3), length: z.number().default(1) }),
  outputSchema: ROW,
  stream: true,
  allowedCallers: ["direct", "programmatic"],
  async *execute({ count, length }) {
    for (let id = 0; id < count; id += 1) yield { id, text: "x".repeat(length) };
  },
});

const called = (input: object = {}, tool = "rows") => [{ calls: [{ tool, input }] }, { text: "done" }];

test("a model that calls a tool that streams directly gets one array, and is told so", async () => {
  const talked = await talk(called(), { tools: [rows] });
  expect(resultsBefore(talked, 1)).toMatchObject([
    { text: '[{"id":0,"text":"x"},{"id":1,"text":"x"},{"id":2,"text":"x"}]', isError: false, isJson: true },
  ]);
  expect(talked.calls).toMatchObject([
    { tool: "rows", caller: "direct", outcome: { type: "value", shape: "array of 3" } },
  ]);
  expect(talked.calls[0]).not.toHaveProperty("items");
});

test("an array that is too large for the model is kept, and cut with the number of its items", async () => {
  const talked = await talk(
    [
      { calls: [{ tool: "rows", input: { count: 5000 } }] },
      ({ results }) => {
        const { artifact } = JSON.parse(results[0]?.text ?? "{}") as { readonly artifact?: string };
        return { programs: [`const rows = await load(${JSON.stringify(artifact)}); return rows.length;`] };
      },
      { text: "done" },
    ],
    { tools: [rows], limits: { outputBytes: 1000 } },
  );
  const [cut] = resultsBefore(talked, 1);
  expect(JSON.parse(cut?.text ?? "")).toMatchObject({
    count: 5000,
    shape: "{ id: number, text: string }[]",
  });
  expect(Buffer.byteLength(cut?.text ?? "")).toBeLessThanOrEqual(1000);
  expect(resultsBefore(talked, 2)[0]?.text).toContain("5000");
});

test.each([
  [
    "resultBytes",
    { resultBytes: 10_000 },
    /^The first \d+ items of rows have \d+ bytes already, and at most 10000 are/,
  ],
  ["totalBytes", { totalBytes: 20_000, resultBytes: 20_000 }, /20000/],
])("an endless stream is ended by %s, and the model reads why", async (_, limits, message) => {
  let ended = false;
  const endless = makeTool({
    name: "rows",
    stream: true,
    allowedCallers: ["direct"],
    async *execute() {
      try {
        for (let id = 0; ; id += 1) yield { id, text: "x" };
      } finally {
        ended = true;
      }
    },
  });
  const talked = await talk(called(), { tools: [endless], limits });
  const [result] = resultsBefore(talked, 1);
  expect(result).toMatchObject({ isError: true });
  expect(result?.text).toMatch(message);
  expect(ended).toBe(true);
});

test("a stream that fails after items gives a direct caller its failure alone", async () => {
  const failing = makeTool({
    name: "failing",
    stream: true,
    allowedCallers: ["direct"],
    async *execute() {
      yield 1;
      throw new PortcullisError("tool_failed", "The warehouse closes at six.");
    },
  });
  const talked = await talk(called({}, "failing"), { tools: [failing] });
  expect(resultsBefore(talked, 1)).toMatchObject([{ text: "  The warehouse closes at six.", isError: true }]);
});

test("an agent that is a tool reads streams as its caller does: direct calls as arrays, programs as streams", async () => {
  const model = scriptedModel([
    {
      calls: [{ tool: "rows" }],
      programs: ["let sum = 0; for await (const { id } of tools.rows({})) sum += id; return sum;"],
    },
    ({ results }) => ({ text: results.map(({ text }) => text).join(" ") }),
  ]);
  const clerk = agentOf("clerk", model, { allowedCallers: ["programmatic"], tools: [rows] });
  const { outcome } = await executed([clerk], 'return tools.clerk({ task: "Count." })');
  expect(outcome).toMatchObject({
    type: "completed",
    value: expect.stringMatching(/^\[\{"id":0.*\}\] .*\b3\b/s) as string,
  });
});

test("a direct call whose host died is made again from its first item", async () => {
  const afters: unknown[] = [];
  const noting: Tool = makeTool({
    name: "rows",
    stream: true,
    allowedCallers: ["direct"],
    async *execute(_, { previous: after }) {
      afters.push(after);
      yield* [1, 2];
    },
  });
  const model = () => scriptedModel(called());
  await using runtime = await runtimeWith([noting]);
  const { execution } = await runtime.agent({ model: model(), task: "Do it." });
  const records = await Array.fromAsync(runtime.journal.read(execution));
  const allowed = records.findIndex(({ type }) => type === "call");
  const cut = await journalWith(records.slice(0, allowed + 1));
  await using other = await runtimeWith([noting], { journal: cut, leaseMs: 100 });
  const again = await other.execution(execution).resume({ model: model() });
  expect(again.answer).toBe("done");
  expect(again.transcript.turns[0]?.results).toMatchObject([{ text: "[1,2]" }]);
  expect(afters).toEqual([undefined, undefined]);
});
