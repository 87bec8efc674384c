import { createRuntime, defineTool } from "portcullis";
import { createMemoryJournal } from "portcullis/journal";
import { createMemorySandbox } from "portcullis/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { JournalEvents } from "../../../src/serve/live/journal-events.ts";

const read = { allowedCallers: ["programmatic"], effect: "read" } as const;
const tools = [
  defineTool({ name: "a.get", description: "does it", input: z.object({}), ...read, handler: () => 1 }),
  defineTool({
    name: "a.fail",
    description: "does it",
    input: z.object({}),
    ...read,
    handler: () => {
      throw new Error("secret");
    },
  }),
  defineTool({
    name: "a.pay",
    description: "does it",
    input: z.object({}),
    ...read,
    approval: "always",
    handler: () => 2,
  }),
  defineTool({ name: "a.ask", description: "does it", input: z.object({}), ...read, handler: "client" }),
];

async function eventsOf(program: string, decide = false) {
  const journal = createMemoryJournal();
  await using runtime = await createRuntime({ tools, journal, sandbox: createMemorySandbox(), approve: () => "later" });
  const report = await runtime.execute(program, { execution: "e" });
  if (decide) await runtime.resume("e", { decisions: { 1: { allow: true, by: "ann" } } });
  const events = new JournalEvents();
  const records = await Array.fromAsync(journal.read("e"));
  return { report, all: records.flatMap((record) => events.take(record)) };
}

const typesOf = (all: readonly { readonly type: string }[]) => all.map(({ type }) => type);

test("a program's records tell of its beginning, prints, calls and end, in order and with ascending ids", async () => {
  const { all } = await eventsOf("console.log('one'); await tools.a.get({}); console.log('two'); return 1");
  expect(typesOf(all)).toEqual([
    "execution_started",
    "output",
    "call_started",
    "call_ended",
    "output",
    "execution_ended",
  ]);
  expect(all[3]?.data).toMatchObject({ callId: "1", tool: "a.get", outcome: { type: "value", shape: "number" } });
  const places = all.map(({ id }) => Number(id));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(new Set(places).size).toBe(places.length);
});

test("a failure of a handler has its code, and nothing of its message", async () => {
  const { all } = await eventsOf("await tools.a.fail({}).catch(() => {}); return 1");
  expect(JSON.stringify(all)).not.toContain("secret");
  expect(all.find(({ type }) => type === "call_ended")?.data).toMatchObject({
    outcome: { type: "failed", code: "handler_failed" },
  });
});

test("waiting is one event, sent when all open calls wait; the decision and later events follow it", async () => {
  const { all } = await eventsOf(
    "const [paid] = await Promise.all([tools.a.pay({}), tools.a.get({})]); return paid",
    true,
  );
  const types = typesOf(all);
  expect(types.filter((type) => type === "execution_waiting")).toHaveLength(1);
  expect(types.indexOf("execution_waiting")).toBeGreaterThan(types.indexOf("call_ended"));
  expect(types.slice(types.indexOf("execution_waiting"))).toEqual(
    expect.arrayContaining(["call_decided", "execution_resumed", "call_started", "execution_ended"]),
  );
  expect(all.find(({ type }) => type === "execution_waiting")?.data).toMatchObject({
    waiting: { approvals: [{ callId: "1", tool: "a.pay", why: "approval" }], calls: [] },
  });
});

test("a call of a client is waited for as one", async () => {
  const { all } = await eventsOf("return await tools.a.ask({})");
  expect(all.at(-1)?.data).toMatchObject({ waiting: { approvals: [], calls: [{ callId: "1", tool: "a.ask" }] } });
});

test("a large text is cut with a line that says so", async () => {
  const { all } = await eventsOf("console.log('x'.repeat(200_000)); throw new Error('y'.repeat(100_000))");
  for (const { data } of all) expect(JSON.stringify(data).length).toBeLessThan(40_000);
  expect(JSON.stringify(all.at(-1))).toContain("bytes left out");
});

test("the same records give the same events, wherever the reading is interrupted", async () => {
  const journal = createMemoryJournal();
  await using runtime = await createRuntime({ tools, journal, sandbox: createMemorySandbox(), approve: () => "later" });
  await runtime.execute("await tools.a.get({}); return await tools.a.pay({})", { execution: "e" });
  const records = await Array.fromAsync(journal.read("e"));
  const whole = new JournalEvents();
  const all = records.flatMap((record) => whole.take(record));
  for (let cut = 0; cut <= records.length; cut += 1) {
    const again = new JournalEvents();
    for (const record of records.slice(0, cut)) again.take(record);
    const rest = records.slice(cut).flatMap((record) => again.take(record));
    expect(rest).toEqual(all.filter(({ id }) => Number.parseInt(id, 10) >= cut));
  }
});
