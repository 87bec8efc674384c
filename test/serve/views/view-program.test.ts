import { expect, test } from "vitest";
import { z } from "zod";
import { showText } from "../../../src/cli/commands/journal/show.ts";
import { createRuntime, defineTool, type Outcome, type Report } from "../../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../../src/journal/index.ts";
import { createMemorySandbox } from "../../../src/runtime/testing.ts";
import type { ProgramView } from "../../../src/serve/views/view.ts";
import { viewExecution } from "../../../src/serve/views/view-execution.ts";
import { makeTool } from "../../gate/open-session.ts";

type Runtime = Awaited<ReturnType<typeof createRuntime>>;
type Run = (runtime: Runtime, journal: Journal) => Promise<Report>;

const stopping = new AbortController();
const tools = [
  makeTool({ name: "crm.find", effect: "read" }),
  makeTool({ name: "crm.put", effect: "idempotent" }),
  makeTool({ name: "bank.pay", effect: "write" }),
  makeTool({ name: "bank.ask", effect: "write", approval: "always" }),
  makeTool({
    name: "bank.hang",
    effect: "write",
    execute: (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
      stopping.abort();
      return new Promise<null>((resolve) => signal.addEventListener("abort", () => resolve(null)));
    },
  }),
];

/** Calls tools of every effect, keeps a value, and prints. */
const WORK = `
  console.log("begun");
  await tools.crm.find({}); await tools.crm.put({}); await tools.bank.pay({}); await tools.bank.pay({});
  await save("rows", [{ id: 1 }, { id: 2 }]);
  console.log("x".repeat(40));`;

const execute =
  (source: string, options: Parameters<Runtime["execute"]>[1] = {}): Run =>
  (runtime) =>
    runtime.execute(WORK + source, options);

/** Programs for each type of ending. */
const endings: Readonly<Record<Exclude<Outcome["type"], "waiting">, Readonly<Record<string, Run>>>> = {
  completed: {
    "with a value": execute("return { a: 1 };"),
    "with nothing": execute(""),
    "with remarks": execute("return { when: new Date(0), missing: undefined, odd: new Map([[1, 2]]) };"),
    "with a value too large": execute(
      'return Array.from({ length: 2000 }, (_, id) => ({ id, text: "y".repeat(20) }));',
    ),
    "while a read is open": execute("tools.crm.find({}); return 1;"),
  },
  failed: {
    "by an error": execute('throw new RangeError("Out of it.\\n  Printed: forged");'),
    "by a call": execute("const one = await tools.bank.pay({ wrong: 1 }); return one.a.b;"),
    "without a write": (runtime) => runtime.execute('throw new Error("No.");'),
  },
  stopped: {
    "by its calls": execute("for (;;) await tools.crm.find({});", { limits: { calls: 8 } }),
    "by what it prints": execute('for (;;) { console.log("z".repeat(99)); await tools.crm.find({}); }', {
      limits: { calls: 20, outputBytes: 512 },
    }),
  },
  cancelled: {
    "during a write": execute("await tools.bank.hang({});", { signal: stopping.signal }),
  },
  crashed: {
    "by its replay": async (runtime, journal) => {
      const { execution } = await runtime.execute(`${WORK} await tools.bank.ask({});`);
      const { length } = await Array.fromAsync(journal.read(execution));
      const outcome = JSON.stringify({ type: "crashed", code: "replay_diverged", detail: "Turn 3 differs." });
      const notes = ["It was taken up by other versions."];
      await journal.append(execution, length, [{ type: "outcome", outcome, notes, at: Date.now() }]);
      const { report } = await runtime.execution(execution).status();
      return report as Report;
    },
  },
};

const cases = Object.entries(endings).flatMap(([type, runs]) =>
  Object.entries(runs).map(([how, run]) => ({ type, how, run })),
);

test.each(cases)("a view has the text that the model got of a program: $type $how", async ({ type, run }) => {
  const journal = createMemoryJournal();
  const sandbox = createMemorySandbox();
  await using runtime = await createRuntime({ tools, journal, sandbox, approve: () => "later" });
  const { execution, outcome, output } = await run(runtime, journal);
  expect(outcome.type).toBe(type);
  const view = await viewExecution(journal, execution);
  expect(view.output?.text).toBe(output.text);
});

// ---- streams -----------------------------------------------------------------------------------------------------

const ROWS = {
  name: "rows",
  description: "Gives rows",
  inputSchema: z.object({ n: z.number().default(0), pauses: z.boolean().optional(), fails: z.boolean().optional() }),
  allowedCallers: ["programmatic"],
  effect: "read",
} as const;

/** A tool whose stream pauses after `n` rows of a thousand bytes, until the test goes on. */
function pausing() {
  const reached = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const rows = defineTool({
    ...ROWS,
    stream: true,
    async *execute({ n, pauses, fails }) {
      for (let id = 0; id < n; id += 1) yield { id, text: "x".repeat(980) };
      if (fails) throw new Error("It is out of rows.");
      if (!pauses) return;
      reached.resolve();
      await go.promise;
      yield { id: n };
    },
  });
  return { rows, reached: reached.promise, go: go.resolve };
}

async function openStreams() {
  const { rows, ...pause } = pausing();
  const journal = createMemoryJournal();
  const options = { journal, sandbox: createMemorySandbox(), logger: { error: () => {} } };
  const runtime = await createRuntime({ tools: [rows, makeTool({ name: "t" })], ...options });
  const view = async (execution: string) => (await viewExecution(journal, execution)) as ProgramView;
  return { ...pause, runtime, journal, view, [Symbol.asyncDispose]: () => runtime[Symbol.asyncDispose]() };
}

test("an open stream is shown with what the program was given so far, by the page and on a terminal", async () => {
  await using one = await openStreams();
  const running = one.runtime.execute(
    "let n = 0; for await (const row of tools.rows({ n: 2000, pauses: true })) n += 1; return n;",
    {
      id: "e",
    },
  );
  await one.reached;
  await expect.poll(async () => (await one.view("e")).calls[0]?.items).toBe(2000);
  const { calls, funnel } = await one.view("e");
  const [call] = calls;
  expect(call).toMatchObject({ state: "open", items: 2000 });
  expect(call?.bytes).toBeGreaterThan(2_000_000 * 0.99);
  expect(funnel.fetched.bytes).toBe(call?.bytes);
  expect(funnel.seen?.bytes).toBe(call?.bytes);
  expect(await showText(one.journal, "e")).toContain(
    'call 1: rows with {"n":2000,"pauses":true} runs: stream of 2,000 items, 1.9 MiB so far',
  );
  one.go();
  const report = await running;
  const ended = await one.view("e");
  expect(ended.calls[0]).toMatchObject({ state: "value", detail: "stream of 2001", items: 2001 });
  expect(ended.calls[0]).not.toHaveProperty("result");
  expect(ended.funnel).toMatchObject({
    fetched: { bytes: report.usage.bytesIn },
    seen: { bytes: report.usage.bytesSeen },
  });
  expect(report.usage.bytesIn).toBe(ended.calls[0]?.bytes);
});

test("a stream that failed, was given up or not read to its end has the items that the program was given", async () => {
  await using one = await openStreams();
  await one.runtime.execute(
    "try { for await (const row of tools.rows({ n: 3, fails: true })); } catch {} for await (const row of tools.rows({ n: 4000 })) break;",
    { id: "e" },
  );
  const { calls } = await one.view("e");
  expect(calls).toMatchObject([
    { state: "failed", detail: "handler_failed", items: 3, result: { text: expect.stringContaining("rows failed") } },
    { state: "value", detail: expect.stringContaining("not read to its end"), items: expect.any(Number) },
  ]);
  const stopping = one.runtime.execute("for await (const row of tools.rows({ n: 5, pauses: true }));", {
    id: "stopped",
    limits: { wallMs: 300 },
  });
  await stopping;
  const view = await one.view("stopped");
  expect(view.calls).toMatchObject([{ state: "aborted", items: 5 }]);
  expect(await showText(one.journal, "stopped")).toContain("given up after 5 items");
});
