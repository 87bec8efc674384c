import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { showText } from "../../src/cli/commands/journal/show.ts";
import { createSqliteJournal, defineTool, PortcullisError } from "../../src/index.ts";
import {
  createMemoryJournal,
  exportLines,
  importLines,
  type Journal,
  type JournalRecord,
  readLines,
} from "../../src/journal/index.ts";
import { placesIn } from "../support/changed.ts";
import { failing, runs, runtimeWith } from "../support/index.ts";

const common = {
  description: "d",
  inputSchema: z.object({ n: z.number() }),
  allowedCallers: ["programmatic"],
} as const;
const tools = [
  defineTool({ ...common, name: "read", effect: "read", execute: ({ n }) => ({ n }) }),
  defineTool({ ...common, name: "pay", effect: "write", approval: "always", execute: ({ n }) => n }),
  defineTool({ ...common, name: "ask", effect: "read", execute: "client" }),
  defineTool({
    ...common,
    name: "rows",
    effect: "read",
    stream: true,
    execute: ({ n }, { previous: after }) => [1, 2, 3].slice(after?.items ?? 0, n),
  }),
];
// Without a loop: a program that was changed must not run for ever in this process.
const PROGRAM = `console.log("begin");
  const { n } = await tools.read({ n: 1 });
  const all = await Promise.allSettled([tools.pay({ n }), tools.ask({ n }), tools.read({ n: "x" })]);
  return all.map(({ status }) => status);`;

const STREAMS = `let sum = 0;
  for await (const n of tools.rows({ n: 3 })) sum += n;
  for await (const n of tools.rows({ n: 3 })) { await tools.ask({ n }); break; }`;

/** Lines of executions that ended, wait, and failed. */
async function exported(): Promise<readonly string[]> {
  const journal = createMemoryJournal();
  await using runtime = await runtimeWith(tools, { journal, approve: () => "later" });
  await runtime.execute(PROGRAM, { id: "waits" });
  await runtime.execute(PROGRAM, { id: "ended" });
  await runtime.execution("ended").resume({
    decisions: { "2": { allow: true, by: "ann", note: "checked" } },
    results: { "3": { value: { units: 4 } } },
  });
  await runtime.execute("throw new TypeError(await tools.read({ n: 1 }));", { id: "failed" });
  await runtime.execute(PROGRAM, { id: "decided" });
  await runtime.execution("decided").decide({ "2": { allow: true } });
  await runtime.execute(STREAMS, { id: "streams" });
  return Array.fromAsync(exportLines(journal, ["waits", "ended", "failed", "decided", "streams"]));
}

async function* chunksOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

/** What reads a journal may throw: a typed error, with a sentence. */
async function typed(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!PortcullisError.is(error)) throw error;
    expect(error.message).toMatch(/\S/);
  }
}

/** Imports lines, and does with what was imported all that an operator does. */
async function walk(text: string | Uint8Array): Promise<void> {
  using journal = createSqliteJournal({ path: ":memory:" });
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  await typed(() => Array.fromAsync(importLines(journal, readLines(chunksOf(bytes, 1000)))));
  expect(await Array.fromAsync(journal.check())).toEqual([]);
  await using runtime = await runtimeWith(tools, { journal, approve: () => "later", logger: { error() {} } });
  for await (const { execution: id } of runtime.executions.list()) {
    const signal = AbortSignal.timeout(1000);
    await typed(() => showText(journal, id));
    await typed(() => Array.fromAsync(exportLines(journal, [id])));
    await typed(() => runtime.execution(id).replay());
    await typed(() => runtime.execution(id).decide({ "2": { allow: true } }));
    await typed(() => runtime.execution(id).resume({ signal }));
    await typed(() =>
      runtime.execution(id).resume({ signal, allowChangedTools: true, results: { "3": { value: 1 } } }),
    );
  }
  for await (const one of runtime.recover()) if ("error" in one && !PortcullisError.is(one.error)) throw one.error;
}

const TEXTS = '|{|null|[]|{}|"x"|1e999|__proto__|{"type":"completed"}|{"type":"stopped"}|\u0000|\ud800'.split("|");
const anything = fc.oneof(
  fc.constantFrom<unknown>(...TEXTS, null, -1, 0, 1e308, 0.5, true, [], {}, "1", "2", "9".repeat(40)),
  fc.jsonValue(),
);

/** Changes one value at any depth of a record. A program's own text stays: it would be another program. */
const CHANGE = fc.tuple(fc.nat(), fc.nat(), anything, fc.constantFrom("set", "delete", "rename"));

function change(line: string, [, at, value, how]: readonly [number, number, unknown, string]): string {
  const record = JSON.parse(line) as object;
  const places = placesIn(record).filter(({ key }) => key !== "program" && key !== "source");
  const { holder, key } = places[at % places.length] ?? { holder: record, key: "type" };
  if (how === "delete") delete holder[key];
  else if (how === "rename") holder[`${key}x`] = holder[key];
  else holder[key] = value;
  return JSON.stringify(record);
}

const lines = await exported();

test(
  "a journal with changed values, whatever they are, leads to typed errors only, and holds nothing up",
  { timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(CHANGE, { minLength: 1, maxLength: 3 }), async (changes) => {
        const changed = [...lines];
        for (const one of changes) {
          const index = one[0] % changed.length;
          changed[index] = change(changed[index] ?? "", one);
        }
        await walk(changed.join("\n"));
      }),
      { numRuns: runs(60) },
    );
  },
);

test("so does one whose records are left out, repeated or in another order", { timeout: 120_000 }, async () => {
  const order = fc.array(fc.nat(lines.length - 1), { minLength: 1, maxLength: 2 * lines.length });
  const swaps = fc.array(fc.tuple(fc.nat(lines.length - 1), fc.nat(lines.length - 1)), { minLength: 1, maxLength: 4 });
  const swapped = swaps.map((pairs) => {
    const changed = [...lines];
    for (const [one, other] of pairs) [changed[one], changed[other]] = [changed[other] ?? "", changed[one] ?? ""];
    return changed;
  });
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        order.map((indexes) => [lines[0] ?? "", ...indexes.map((index) => lines[index] ?? "")]),
        swapped,
      ),
      (changed) => walk(changed.join("\n")),
    ),
    { numRuns: runs(30) },
  );
});

test("so does one with changed bytes", { timeout: 120_000 }, async () => {
  const bytes = Buffer.from(lines.join("\n"));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 3 }),
      async (changes) => {
        const changed = Buffer.from(bytes);
        for (const [at, byte] of changes) changed[at] = byte;
        await walk(changed);
      },
    ),
    // A byte within the body of a start, which is JSON within JSON.
    { numRuns: runs(30), examples: [[[[2083, 32]]]] },
  );
});

/** Lines in which one record of an execution is changed. */
function withChanged(
  execution: string,
  type: JournalRecord["type"],
  changes: Readonly<Record<string, unknown>>,
): string {
  const own = lines.map((line) => JSON.parse(line) as JournalRecord);
  const start = own.findIndex((record) => record.type === "header" && record.execution === execution);
  const index = own.findIndex((record, at) => at >= start && record.type === type);
  return own.map((record, at) => JSON.stringify(at === index ? { ...record, ...changes } : record)).join("\n");
}

test.each([
  ["ended", "outcome", { outcome: "{" }, /^Execution "ended", record \d+: its outcome is not that of a program\. /],
  [
    "ended",
    "outcome",
    { outcome: '{"type":"stopped","limit":"toString","allowed":1,"seen":1}' },
    /its outcome is not that/,
  ],
  [
    "failed",
    "outcome",
    { outcome: '{"type":"completed"}' },
    /^Execution "failed", record \d+: its outcome is not that/,
  ],
  ["waits", "header", { limits: { calls: 1e9 } }, /^Execution "waits", record 0: header\.limits\.calls: expected/],
  ["waits", "turn", { event: "{" }, /^Execution "waits", record 1: The journal holds an event that cannot be read/],
] as const)(
  "what %s has in its %s is refused with the execution and the record: %j",
  async (execution, type, changes, message) => {
    using journal = createSqliteJournal({ path: ":memory:" });
    const text = withChanged(execution, type, changes);
    await Array.fromAsync(importLines(journal, readLines(chunksOf(Buffer.from(text), 7))));
    await using runtime = await runtimeWith(tools, { journal });
    await expect(runtime.execution(execution).resume({ decisions: {} })).rejects.toMatchObject(
      failing("journal_invalid", message),
    );
  },
);

test.each([
  [{ grant: {} }, /expected at least one of calls, sums and untilMs/],
  [{ grant: { calls: 1, sums: {} } }, /expected at least one/],
  [{ allow: false, grant: { calls: 1 } }, /a refusal has no grant/],
])("a decision that would allow more than it says is not read: %j", async (changes, message) => {
  const text = Buffer.from(withChanged("decided", "decision", changes));
  const imported = Array.fromAsync(importLines(createMemoryJournal(), readLines(chunksOf(text, 1000))));
  await expect(imported).rejects.toThrow(message);
});

test.each(["02", "2.0", " 2", "0x2", "2e0"])("a decision about the call %j decides no call 2", async (call) => {
  const journal = createMemoryJournal();
  const text = Buffer.from(withChanged("decided", "decision", { call }));
  await Array.fromAsync(importLines(journal, readLines(chunksOf(text, 1000))));
  await using runtime = await runtimeWith(tools, { journal, approve: () => "later" });
  const { outcome } = await runtime.execution("decided").resume({});
  expect(outcome).toMatchObject({ type: "waiting", approvals: [{ callId: "2" }] });
});

/** A journal that gives other records than it holds. */
const reading = (stored: Journal, change: (record: JournalRecord) => readonly JournalRecord[]): Journal => ({
  ...stored,
  async *read(...given) {
    for await (const record of stored.read(...given)) yield* change(record);
  },
});

test("what follows from records that name another execution is not written to that one", async () => {
  const stored = createMemoryJournal();
  for (const tenant of ["ann", "bob"]) {
    await using runtime = await runtimeWith(tools, { journal: stored, tenant, approve: () => "later" });
    await runtime.execute("return await tools.pay({ n: 1 });", { id: tenant });
  }
  const before = await Array.fromAsync(stored.read("bob"));
  const journal = reading(stored, (record) => [
    record.type === "header" && record.execution === "ann" ? { ...record, execution: "bob" } : record,
  ]);
  await using runtime = await runtimeWith(tools, { journal, tenant: "ann" });
  const resuming = runtime.execution("ann").resume({ decisions: { "1": { allow: true } } });
  await expect(resuming).rejects.toMatchObject({ code: "journal_corrupt" });
  expect(await Array.fromAsync(stored.read("bob"))).toEqual(before);
});

test("a second header, also its own, ends the reading of an execution", async () => {
  const stored = createMemoryJournal();
  await using first = await runtimeWith(tools, { journal: stored, approve: () => "later" });
  await first.execute("return await tools.pay({ n: 1 });", { id: "one" });
  const journal = reading(stored, (record) => (record.type === "header" ? [record, record] : [record]));
  await using runtime = await runtimeWith(tools, { journal });
  for (const asked of [
    runtime.execution("one").resume({ decisions: { 1: { allow: true } } }),
    runtime.execution("one").status(),
  ])
    await expect(asked).rejects.toMatchObject({ code: "journal_corrupt" });
});
