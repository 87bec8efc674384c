import { expect, test } from "vitest";
import { z } from "zod";
import { type Effect } from "../../src/index.ts";
import { createMemoryJournal, type Journal, type JournalRecord } from "../../src/journal/index.ts";
import { notedTool, runtimeWith } from "../support/index.ts";

/** The next turn of the event loop. */
const nextTurn = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });

interface Append {
  readonly records: readonly JournalRecord[];
  readonly safe: boolean;
}

/** A journal that notes its appends. `before` is awaited before each of them. */
function noted(before: (append: Append) => Promise<void> = async () => {}) {
  const inner = createMemoryJournal();
  const appends: Append[] = [];
  const append: Journal["append"] = async (execution, head, records, { safe = false } = {}) => {
    const one = { records, safe };
    await before(one);
    appends.push(one);
    return inner.append(execution, head, records);
  };
  return { journal: { ...inner, append } satisfies Journal, appends };
}

function makeTool(name: string, effect: Effect, options: { readonly approval?: "always" } = {}) {
  const { tool, inputs } = notedTool({ name, inputSchema: z.object({ n: z.number() }), effect, ...options });
  return { tool, runs: inputs };
}

test.each(["read", "idempotent", "write"] as const)(
  "a call of a %s tool costs one append: its turn, its decision and the last answer are written together",
  async (effect) => {
    const { journal, appends } = noted();
    const { tool, runs } = makeTool("work", effect);
    await using runtime = await runtimeWith([tool], { journal });
    await runtime.execute("for (let n = 0; n < 100; n += 1) await tools.work({ n });");
    expect(runs).toHaveLength(100);
    expect(appends.length / runs.length).toBeLessThanOrEqual(1.2);
    const deciding = appends.filter(({ records }) => records.some(({ type }) => type === "call"));
    // A busy host may read an input in a later turn of its event loop.
    const whole = deciding.filter(({ records }) => records.map(({ type }) => type).join() === "answered,turn,call");
    expect(whole.length).toBeGreaterThanOrEqual(80);
    // The append before a call that changes something survives a loss of power.
    expect(deciding.filter(({ safe }) => safe)).toHaveLength(effect === "read" ? 0 : 100);
  },
);

test("100 calls at once take a few appends in a store that is slower than the program", async () => {
  const { journal, appends } = noted(nextTurn);
  const { tool, runs } = makeTool("work", "write");
  await using runtime = await runtimeWith([tool], { journal, limits: { concurrentCalls: 100 } });
  await runtime.execute("await Promise.all(Array.from({ length: 100 }, (_, n) => tools.work({ n })));");
  expect(runs).toHaveLength(100);
  expect(appends.length).toBeLessThan(20);
});

test("the last turn and the outcome are one append, unless the turn prints", async () => {
  const { journal, appends } = noted();
  await using runtime = await runtimeWith([], { journal });
  await runtime.execute("return 1;");
  expect(appends.map(({ records }) => records.map(({ type }) => type))).toEqual([["turn", "outcome"]]);
  appends.length = 0;
  await runtime.execute("console.log(1);");
  expect(appends.map(({ records }) => records.map(({ type }) => type))).toEqual([["turn"], ["outcome"]]);
});

/** A program that prints, calls, asks and sets a timer in its first turn. */
const BUSY = `
  console.log("hello");
  setTimeout(() => console.log("later"), 1);
  await Promise.all([tools.work({ n: 1 }), tools.asked({ n: 2 }), tools.work({ n: "x" }).catch(() => {})]);
`;

/** Runs it, with what is done before the append of a turn, and what was seen. */
async function runBusy(beforeTurn: (done: () => object) => Promise<void>) {
  const { journal } = noted(async ({ records }) => {
    if (records.some(({ type }) => type === "turn")) await beforeTurn(done);
  });
  const work = makeTool("work", "write");
  const asked = makeTool("asked", "write", { approval: "always" });
  const seen: string[] = [];
  const done = () => ({ runs: [...work.runs, ...asked.runs], seen: [...seen] });
  await using runtime = await runtimeWith([work.tool, asked.tool], {
    journal,
    approve: ({ tool }) => seen.push(`approve ${tool}`) > 0,
  });
  const ran = await runtime.execute(BUSY, { onEvent: ({ type }) => seen.push(type) }).then(
    ({ outcome }) => outcome.type,
    (error: unknown) => error,
  );
  return { ran, ...done() };
}

test("before a turn is in the journal no handler runs, no approver is asked and nothing is shown; then all of it is done", async () => {
  const before: object[] = [];
  const { ran, runs, seen } = await runBusy(async (done) => {
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    before.push(done());
  });
  expect(before[0]).toEqual({ runs: [], seen: ["execution_started"] });
  expect(ran).toBe("completed");
  expect(runs).toEqual([{ n: 1 }, { n: 2 }]);
  // What a turn prints is shown before its calls start.
  expect(seen.slice(0, 2)).toEqual(["execution_started", "output"]);
  expect(seen).toContain("approve asked");
});

test.each([
  ["fails", { code: "journal_full" }],
  ["is fenced", { code: "head_moved" }],
])("if the append of a turn %s, nothing of the turn is done", async (_, error) => {
  const { ran, runs, seen } = await runBusy(async () => {
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    throw Object.assign(new Error("no"), error);
  });
  expect(ran).toMatchObject(error);
  expect(runs).toEqual([]);
  expect(seen.filter((what) => what !== "call_ended")).toEqual(["execution_started"]);
});
