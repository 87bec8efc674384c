import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { showText } from "../../src/cli/commands/journal/show.ts";
import { createRuntime, createSqliteJournal, type RuntimeOptions } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createIsolateSandbox } from "../../src/sandboxes/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { ALL_TESTS, journalWith, makeTool, newFile, runtimeWith } from "../support/index.ts";
import { enginesOf } from "../support/engines.ts";
import { createForkedPythonSandbox, PYTHON } from "../support/python-process-sandbox.ts";
import { evicting } from "../support/evicting-sandbox.ts";
import { cutsWhere, handsItems, type Run, streamingTools } from "./streaming-tools.ts";

const sandbox = createMemorySandbox();
afterAll(() => sandbox[Symbol.asyncDispose]());
const LIMITS = { resultBytes: 120 };

/** A stream whose handler waits before its item of this index, until it is let go. */
function gated(at: number, runs: string[]) {
  const [reached, open] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const tool = makeTool({
    name: "gated",
    inputSchema: z.object({ n: z.number() }),
    effect: "write",
    stream: true,
    async *execute({ n }, { callId }) {
      runs.push(callId);
      for (let i = 0; i < n; i += 1) {
        if (i === at) {
          reached.resolve();
          await open.promise;
        }
        yield { i };
      }
    },
  });
  return { tool, reached: reached.promise, open: open.resolve };
}

const start = (options: RuntimeOptions) => createRuntime({ sandbox, limits: LIMITS, ...options });

const READS = "let sum = 0; for await (const { i } of tools.gated({ n: 40 })) sum += i; return sum;";

test("a program that is evicted at every wait reads its streams to their ends, from handlers that were called once", async () => {
  const evictor = evicting(createMemorySandbox());
  for (const journal of [createMemoryJournal(), createSqliteJournal({ path: newFile() })]) {
    const seen: Run[] = [];
    await using runtime = await createRuntime({
      tools: streamingTools(seen),
      sandbox: evictor,
      journal,
      limits: LIMITS,
    });
    const report = await runtime.execute(`
      const pairs = [tools.rows({ n: 22 }), tools.pay({ n: 13 })].map((stream) => Array.fromAsync(stream));
      const [rows, paid] = await Promise.all(pairs);
      for await (const { i } of tools.rows({ n: 50 })) if (await tools.one({ n: i }) === 6) break;
      return [rows.length, paid.length];`);
    expect(report.outcome).toEqual({ type: "completed", value: [22, 13] });
    expect(report.usage.evictions).toBeGreaterThan(5);
    expect(seen.filter(({ tool }) => tool !== "one")).toHaveLength(3);
    expect(await runtime.execution(report.execution).replay()).toEqual({ type: "identical" });
  }
});

test("a program gives its engine to another one in the midst of a stream, whose handler goes on", async () => {
  const called: string[] = [];
  const { tool, reached, open } = gated(23, called);
  await using one = createIsolateSandbox({ engines: 1, warm: 1 });
  await using runtime = await createRuntime({ tools: [tool], sandbox: one, limits: LIMITS });
  const reading = runtime.execute(READS);
  await reached;
  expect((await runtime.execute("return 1;")).outcome).toEqual({ type: "completed", value: 1 });
  open();
  const report = await reading;
  expect(report.outcome).toEqual({ type: "completed", value: 780 });
  expect([report.usage.evictions, report.usage.restarts, called.length]).toEqual([1, 0, 1]);
  expect(await runtime.execution(report.execution).replay()).toEqual({ type: "identical" });
});

test("an engine that dies in the midst of a stream is replaced, and the handler goes on", async () => {
  const called: string[] = [];
  const { tool, reached, open } = gated(23, called);
  await using isolates = createIsolateSandbox({ warm: 1 });
  await using runtime = await createRuntime({ tools: [tool], sandbox: isolates, limits: LIMITS });
  const reading = runtime.execute(READS);
  await reached;
  const killed = enginesOf();
  for (const pid of killed) process.kill(pid, "SIGKILL");
  await expect.poll(() => enginesOf().filter((pid) => killed.includes(pid))).toEqual([]);
  open();
  const report = await reading;
  expect(report.outcome).toEqual({ type: "completed", value: 780 });
  expect([report.usage.restarts, called.length]).toEqual([1, 1]);
  expect(report.calls).toMatchObject([{ items: 40, outcome: { type: "value", shape: "stream of 40" } }]);
  expect(await runtime.execution(report.execution).replay()).toEqual({ type: "identical" });
});

test("of more than a quarter of totalBytes a journal in memory keeps no batches, and report, replay and take-up say so", async () => {
  const limits = { resultBytes: 1000, totalBytes: 20_000 };
  const program =
    "let sum = 0; for await (const { i } of tools.rows({ n: 1000 })) sum += i; return sum + (await tools.one({ n: 1 }));";
  const journal = createMemoryJournal();
  const tools = streamingTools([]);
  await using runtime = await runtimeWith(tools, { journal, limits });
  const report = await runtime.execute(program);
  const sentence =
    "This execution cannot be replayed, because the program had read more of its streams than a journal in memory keeps; a journal in a file keeps all of them.";
  expect(report.outcome).toEqual({ type: "completed", value: 499_501 });
  // The operator has to know it, and the model has nothing of it.
  expect(report).toMatchObject({ unreplayable: "stream", notes: [], output: { text: "499501" } });
  expect(await runtime.execution(report.execution).resume()).toMatchObject({ unreplayable: "stream", notes: [] });
  expect(await showText(journal, report.execution)).toContain(sentence);
  expect(await runtime.execution(report.execution).replay()).toEqual({ type: "unreplayable", cause: "stream" });

  const records = await Array.fromAsync(journal.read(report.execution));
  const batches = records.filter(handsItems).map((one) => (one.type === "turn" ? one.event : ""));
  const kept = batches.filter((event) => event.includes("\n"));
  expect(kept.join("").length).toBeGreaterThan(4000);
  expect(kept.join("").length).toBeLessThan(5500);
  expect(batches.slice(0, kept.length)).toEqual(kept);
  expect(report.calls[0]?.bytes).toBeGreaterThan(20_000);

  // As its host left it in the midst of the stream.
  const copy = await journalWith(records.slice(0, records.findLastIndex(handsItems)));
  await using next = await runtimeWith(tools, { journal: copy, limits });
  expect((await next.execution(report.execution).resume()).outcome).toEqual({
    type: "crashed",
    code: "engine_died",
    detail:
      "the host died; the program was not resumed, because it had read more of its streams than a journal in memory keeps; a journal in a file keeps all of them",
  });

  // A journal in a file keeps all.
  await using durable = await start({ tools, journal: createSqliteJournal({ path: newFile() }), limits });
  const all = await durable.execute(program);
  expect(all.unreplayable).toBeUndefined();
  expect(await durable.execution(all.execution).replay()).toEqual({ type: "identical" });
});

test("a program whose stream a journal in memory does not keep stays in its engine while it waits", async () => {
  const called: string[] = [];
  const { tool, reached, open } = gated(900, called);
  await using one = createIsolateSandbox({ engines: 1, warm: 1 });
  const limits = { resultBytes: 1000, totalBytes: 10_000, queueMs: 50 };
  await using runtime = await createRuntime({ tools: [tool], sandbox: one, limits });
  const reading = runtime.execute(READS.replace("40", "1000"));
  await reached;
  expect((await runtime.execute("return 1;")).outcome).toMatchObject({ type: "stopped", limit: "queueMs" });
  open();
  const { outcome, usage } = await reading;
  expect(outcome).toEqual({ type: "completed", value: 499_500 });
  expect([usage.evictions, usage.notEvicted]).toEqual([0, "stream"]);
});

/** What a program does with streams, one after the other. */

const ID = "random";

const PYTHON_PROGRAM = `
total = 0
async for row in tools.rows(n=20):
    total += row["i"]
async for row in tools.rows(n=90):
    if row["i"] == 7:
        break
some = tools.again(n=32)
async for row in tools.put(n=10):
    total += await tools.one(n=row["i"])
async for row in some:
    total += row["i"]
try:
    async for row in tools.falls(n=6):
        total += row["i"]
except ToolError as error:
    print(error.code)
return total
`;

test.skipIf(PYTHON.missing)(
  "a Python program with streams that is stopped after any batch ends as if it had not been",
  { timeout: 120_000 },
  async () => {
    await using python = createForkedPythonSandbox();
    const options = { sandbox: python, tools: streamingTools([]), limits: LIMITS, logger: { error: () => {} } };
    const journal = createMemoryJournal();
    await using runtime = await createRuntime({ ...options, journal });
    const expected = await runtime.execute(PYTHON_PROGRAM, { id: ID, language: "python" });
    expect(expected.outcome).toEqual({ type: "completed", value: 190 + 45 + 496 + 15 });
    const records = await Array.fromAsync(journal.read(ID));
    expect(await runtime.execution(ID).replay()).toEqual({ type: "identical" });
    const cuts = cutsWhere(records, (_, last) => handsItems(last));
    expect(cuts.length).toBeGreaterThan(9);
    for (const cut of cuts.filter((_, index) => index % (ALL_TESTS ? 1 : 4) === 0)) {
      const copy = await journalWith(records.slice(0, cut));
      await using next = await createRuntime({ ...options, journal: copy });
      const report = await next.execution(ID).resume();
      expect([report.outcome, report.logs.text], `after record ${cut}`).toEqual([expected.outcome, expected.logs.text]);
      expect(await next.execution(ID).replay()).toEqual({ type: "identical" });
    }
  },
);
