import { expect, test } from "vitest";
import { z } from "zod";
import type { Report, RuntimeOptions, ApprovalRequest, ExecuteOptions } from "../../src/index.ts";
import { createRuntime } from "../../src/runtime/create-runtime.ts";
import { createMemorySandbox } from "../../src/sandboxes/memory-sandbox.ts";
import { enginesOf } from "../support/engines.ts";
import { journalWith, makeTool, runtimeWith, throws } from "../support/index.ts";

const start = (options: RuntimeOptions) => createRuntime({ sandbox: createMemorySandbox(), ...options });

const id = z.object({ id: z.number() });
const writing = (more: Partial<Parameters<typeof makeTool>[0]>) =>
  makeTool({ name: "write", inputSchema: id, effect: "write", ...more } as never);
const fails = throws("no");

const MANY_WRITES = `
  console.log("before");
  await Promise.all(Array.from({ length: 40 }, (_, id) => tools.write({ id })));
  return "done";
`;

/** Handlers that go on as soon as they are told to stop, so that the places of their calls become free at once. */
function obedientWrites(concurrency: number) {
  const started: number[] = [];
  const first = Promise.withResolvers<void>();
  const tool = makeTool({
    name: "write",
    inputSchema: z.object({ id: z.number() }),
    effect: "write",
    concurrency,
    execute: ({ id }, { signal }) => {
      started.push(id);
      if (started.length === Math.min(4, concurrency)) first.resolve();
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve(null));
      });
    },
  });
  return { tool, started, first: first.promise };
}

test.each<[string, number, ExecuteOptions, string]>([
  ["is cancelled, with calls that wait for the execution's turn", 100, {}, "cancelled"],
  ["is cancelled, with calls that wait for their tool's turn", 2, {}, "cancelled"],
  ["reaches wallMs, with calls that wait for the execution's turn", 100, { limits: { wallMs: 300 } }, "stopped"],
  ["reaches wallMs, with calls that wait for their tool's turn", 2, { limits: { wallMs: 300 } }, "stopped"],
])("once a program %s, no further handler starts", async (_, concurrency, options, type) => {
  const { tool, started, first } = obedientWrites(concurrency);
  const stop = new AbortController();
  await using runtime = await start({ tools: [tool], limits: { concurrentCalls: 4 } });
  const running = runtime.execute(MANY_WRITES, { ...options, signal: stop.signal });
  await first;
  const before = [...started];
  if (type === "cancelled") stop.abort();
  const { outcome, calls, logs, execution } = await running;
  expect(outcome.type).toBe(type);
  expect(started).toEqual(before);
  expect(calls.filter((call) => call.started)).toHaveLength(before.length);
  // Its last words are heard all the same.
  expect(logs.text).toContain("before");
  const records = await Array.fromAsync(runtime.journal.read(execution));
  expect(records.at(-1)?.type).toBe("outcome");
  const decided = records.flatMap((record) => (record.type === "call" ? [record] : []));
  expect(decided.filter(({ decision }) => decision === "allowed")).toHaveLength(before.length);
  expect(decided.every(({ decision }) => decision === "allowed" || decision === "dropped")).toBe(true);
  expect(new Set(decided.map(({ call }) => call)).size).toBe(decided.length);
});

test("cancelling a program aborts the approver's signal, and a later approval runs nothing", async () => {
  const asked = Promise.withResolvers<ApprovalRequest>();
  const decided = Promise.withResolvers<boolean>();
  let runs = 0;
  const tool = writing({ approval: "always", execute: () => (runs += 1) });
  const stop = new AbortController();
  await using runtime = await start({
    tools: [tool],
    approve: (request) => {
      asked.resolve(request);
      return decided.promise;
    },
  });
  const running = runtime.execute("await tools.write({ id: 1 })", { signal: stop.signal });
  const { signal } = await asked.promise;
  expect(signal.aborted).toBe(false);
  stop.abort();
  expect(signal.aborted).toBe(true);
  decided.resolve(true);
  expect((await running).output).toEqual({ text: "The execution was cancelled.", isError: true });
  expect(runs).toBe(0);
});

test("a report lists the calls that a program makes as it ends, as its journal does", async () => {
  const read = makeTool({
    name: "read",
    inputSchema: z.object({ id: z.number() }),
    execute: ({ id }) => (id === 1 ? new Promise<never>(() => {}) : id),
  });
  await using runtime = await runtimeWith([read]);
  const program = "tools.read({ id: 1 }); await tools.read({ id: 2 }); tools.read({ id: 3 }); return 4;";
  const told = ({ calls, usage }: Report) => ({
    made: usage.calls,
    calls: calls.map(({ callId, outcome, started }) => ({ callId, outcome: outcome.type, started })),
  });
  const report = await runtime.execute(program);
  expect(told(report)).toEqual({
    made: 3,
    calls: [
      { callId: "2", outcome: "value", started: true },
      { callId: "1", outcome: "aborted", started: true },
      { callId: "3", outcome: "aborted", started: false },
    ],
  });
  expect(told(await runtime.execution(report.execution).resume())).toEqual(told(report));

  // A host that died as the program ended left the same calls.
  const records = await Array.fromAsync(runtime.journal.read(report.execution));
  const journal = await journalWith(records.slice(0, records.findLastIndex(({ type }) => type === "turn") + 1));
  await using next = await runtimeWith([read], { journal });
  const byId = ({ calls, ...rest }: ReturnType<typeof told>) => ({
    ...rest,
    calls: calls.toSorted((one, other) => one.callId.localeCompare(other.callId)),
  });
  const second = await next.execution(report.execution).resume();
  expect(byId(told(second))).toEqual(byId(told(report)));
  expect(told(await next.execution(report.execution).resume())).toEqual(told(second));
});

test("a write that failed and was not awaited is told in a note, with its tool and what became of it", async () => {
  const read = makeTool({ name: "read", inputSchema: id, execute: () => "row" });
  await using runtime = await start({ tools: [writing({ execute: fails }), read] });
  const source =
    "tools.write({ id: 1 }); tools.write({ id: 2 }); await new Promise((resolve) => setTimeout(resolve, 50)); return await tools.read({ id: 1 });";
  const { outcome, notes, output } = await runtime.execute(source);
  expect(outcome).toEqual({ type: "completed", value: "row" });
  expect(notes).toEqual([
    '2 calls of write (handler_failed) failed and may have taken effect: find out before you make such a call again. Inputs: {"id":1}, {"id":2}. The program completed, because it did not await it, or caught its error.',
  ]);
  expect(output.text).toContain("write (handler_failed)");
});

test.each<[string, RuntimeOptions["redact"], unknown[]]>([
  ["its input", undefined, ['write may have taken effect. Inputs: {"id":1}, and 1 more.']],
  ["no input with redact, which may have to take it out", () => [], []],
])("of a write that ended its program, a note says %s", async (_, redact, expected) => {
  const write = writing({ inputSchema: id.extend({ text: z.string().optional() }), execute: fails });
  await using runtime = await start({ tools: [write], ...(redact && { redact }) });
  const { outcome, notes } = await runtime.execute(
    `await tools.write({ id: 1 }).catch(() => {}); await tools.write({ id: 2, text: "x".repeat(1000) });`,
  );
  expect(outcome.type).toBe("failed");
  expect(notes).toEqual(expected);
});

test("if heldBytes is spent, an execution that needs more is stopped by it and others continue", async () => {
  const hold = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const wait = makeTool({
    name: "wait",
    inputSchema: z.object({ x: z.string() }),
    execute: () => {
      held.resolve();
      return hold.promise;
    },
  });
  await using runtime = await start({ tools: [wait], heldBytes: 2 * 1024 * 1024 });
  const greedy =
    "await tools.wait({ x: 'x'.repeat(400_000) }); await tools.wait({ x: 'x'.repeat(900_000) }); return 1;";
  const running = runtime.execute(greedy);
  await held.promise;
  expect((await runtime.execute("return 2")).outcome).toEqual({ type: "completed", value: 2 });
  hold.resolve();
  const { outcome, output } = await running;
  expect(outcome).toMatchObject({ type: "stopped", limit: "heldBytes" });
  expect(output.text).toMatch(
    /^The program was stopped: the executions of this runtime used up the memory they share, .* \(limit heldBytes\)/,
  );
  // What it held is free again.
  expect((await runtime.execute("await tools.wait({ x: 'x'.repeat(400_000) }); return 3")).outcome.type).toBe(
    "completed",
  );
});

test.each([
  ["takes all memory", "const rows = []; for (;;) rows.push(new Array(3e6).fill(1.5));"],
  ["dies with its engine", "end();"],
])(
  "what a program does with its last words, which %s, is no other ending, and no other engine's start",
  async (_, words) => {
    const stop = new AbortController();
    const started = Promise.withResolvers<void>();
    const slow = makeTool({
      name: "slow",
      execute: (__, { signal }) => {
        started.resolve();
        return new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            if (words === "end();") for (const pid of enginesOf()) process.kill(pid, "SIGKILL");
            resolve(null);
          });
        });
      },
    });
    await using runtime = await createRuntime({ tools: [slow], limits: { memoryBytes: 16 * 1024 * 1024 } });
    const running = runtime.execute(`try { await tools.slow({}); } catch { ${words} }`, { signal: stop.signal });
    await started.promise;
    stop.abort();
    const { outcome, usage } = await running;
    expect(outcome).toEqual({ type: "cancelled" });
    expect(usage.restarts).toBe(0);
  },
);
