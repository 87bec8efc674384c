import { expect, test } from "vitest";
import { z } from "zod";
import { createRuntime, defineTool } from "../../../src/index.ts";
import type { Journal } from "../../../src/journal/journal.ts";
import { createMemoryJournal } from "../../../src/journal/memory-journal.ts";
import type { Header, JournalRecord } from "../../../src/journal/record.ts";
import { createMemorySandbox, scriptedModel } from "../../../src/runtime/testing.ts";
import { LiveView } from "../../../src/serve/views/live-view.ts";
import { viewExecution } from "../../../src/serve/views/view-execution.ts";

const common = {
  description: "d",
  inputSchema: z.object({ n: z.number() }),
  allowedCallers: ["programmatic", "direct"],
} as const;
const tools = [
  defineTool({ ...common, name: "rows", effect: "read", execute: ({ n }) => Array.from({ length: n }, (_, id) => id) }),
  defineTool({
    ...common,
    name: "stream",
    effect: "read",
    stream: true,
    execute: ({ n }) => Array.from({ length: n }, (_, id) => ({ id })),
  }),
  defineTool({ ...common, name: "pay", effect: "write", approval: "always", execute: ({ n }) => n }),
  defineTool({ ...common, name: "fail", effect: "read", execute: () => Promise.reject(new Error("no")) }),
];

const PROGRAM = `console.log("begin");
const [rows] = await Promise.allSettled([tools.rows({ n: 3 }), tools.fail({ n: 1 }), tools.rows({ n: "x" })]);
let items = 0;
for await (const _ of tools.stream({ n: 700 })) items += 1;
await save("kept", [1]);
console.error("end");
await tools.pay({ n: 1 });
return items;`;

/** Journals with an execution of each kind, which has ended, by their ids. */
async function ended() {
  const journal = createMemoryJournal();
  await using runtime = await createRuntime({
    tools,
    journal,
    sandbox: createMemorySandbox(),
    approve: () => "later",
    logger: { error: () => {} },
  });
  await runtime.execute(PROGRAM, { id: "program" });
  await runtime.execution("program").decide({ 6: { allow: true, by: "ann" } });
  await runtime.execution("program").resume();
  const model = scriptedModel([
    { calls: [{ tool: "rows", input: { n: 2 } }] },
    { programs: ["return (await tools.rows({ n: 2 })).length"] },
    { text: "Two." },
  ]);
  await runtime.agent({ model, task: "How many?", id: "conversation" });
  await runtime.call({ tool: "rows", input: { n: 1 }, caller: "direct" });
  return journal;
}

test.each(["program", "conversation", "call"] as const)(
  "the live view of a %s is after each record the view that a reader of all records makes, and no view changes later",
  async (kind) => {
    const from = await ended();
    const all = await Array.fromAsync(from.list());
    const { execution = "" } = all.find((one) => one.kind === kind && one.records > 1) ?? {};
    const [first, ...rest] = (await Array.fromAsync(from.read(execution))) as [Header, ...JournalRecord[]];
    // The programs of a conversation are there from the start.
    const journal: Journal = createMemoryJournal();
    for (const other of all) {
      if (other.execution === execution) continue;
      const [header, ...records] = (await Array.fromAsync(from.read(other.execution))) as [Header, ...JournalRecord[]];
      await journal.create(header);
      await journal.append(other.execution, 1, records);
    }
    await journal.create(first);
    const live = new LiveView(journal, execution);
    let before = await live.next();
    let text = JSON.stringify(before);
    for (const [index, record] of rest.entries()) {
      await journal.append(execution, index + 1, [record]);
      const view = await live.next();
      expect(view).toEqual(await viewExecution(journal, execution));
      expect(JSON.stringify(before)).toBe(text);
      [before, text] = [view, JSON.stringify(view)];
    }
    expect(before).toMatchObject({ state: "ended" });
    expect(live.heldBytes).toBeGreaterThan(500);
  },
);

test("a view of an execution that is gone or damaged is refused as one that is read at once", async () => {
  const journal = createMemoryJournal();
  await expect(new LiveView(journal, "none").next()).rejects.toMatchObject({ code: "execution_unknown" });
  const [header] = (await Array.fromAsync((await ended()).read("program"))) as [Header];
  await journal.create(header);
  const live = new LiveView(journal, "program");
  await live.next();
  await journal.append("program", 1, [{ type: "turn", event: "nothing", commands: [] }]);
  await expect(live.next()).rejects.toMatchObject({ code: "journal_invalid" });
});
