import { expect, test } from "vitest";
import { createRuntime, type Outcome, type Report } from "../../src/index.ts";
import { createMemoryJournal, type Journal } from "../../src/journal/index.ts";
import { createMemorySandbox } from "../../src/testing.ts";
import { viewExecution } from "../../src/views/view-execution.ts";
import { makeTool } from "../gate/open-session.ts";

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
    handler: (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
      stopping.abort();
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve(null)));
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
      limits: { calls: 20, logBytes: 256 },
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
      const { report } = await runtime.status(execution);
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
