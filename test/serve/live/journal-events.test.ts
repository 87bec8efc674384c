import { type AgentEvent, content, createRuntime, type Tool } from "portcullis";
import { runsAt } from "../../../src/tools/define-tool.ts";
import { createMemoryJournal } from "portcullis/journal";
import { createMemorySandbox, scriptedModel } from "portcullis/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import type { JournalRecord } from "../../../src/journal/index.ts";
import { frameText } from "../../../bridge/frames.ts";
import { CONVERSATION_EVENTS } from "../../../src/conversations/event.ts";
import { CALL_EVENTS } from "../../../src/gate/call-event.ts";
import { PROGRAM_EVENTS } from "../../../src/executions/event.ts";
import { HTTP_EVENTS } from "../../../src/serve/api/event-shapes.ts";
import { makeTool } from "../../support/tools.ts";
import { header, turn } from "../../journal/records.ts";
import { JournalEvents } from "../../../src/serve/live/journal-events.ts";
import { beginCalls, DECISIONS, endCalls } from "./many-calls.ts";
import { takeRecords } from "./take-records.ts";

const fails = () => {
  throw new Error("secret");
};
const direct = { allowedCallers: ["direct"] } as const;
const tools = [
  makeTool({ name: "a.get", inputSchema: z.object({}), execute: () => 1 }),
  makeTool({ name: "a.fail", execute: fails }),
  makeTool({ name: "a.pay", approval: "always", execute: () => 2 }),
  makeTool({ name: "a.ask", execute: "client" }),
];
const streaming = makeTool({ name: "a.stream", stream: true, execute: () => [1, 2] });
const hold = makeTool({ name: "a.hold", ...direct, approval: "always", execute: () => 3 });

/** A runtime with these tools beside its own, and its journal. */
async function open(more: readonly Tool[] = [], onEvent?: (event: AgentEvent) => void) {
  const journal = createMemoryJournal();
  const options = { journal, sandbox: createMemorySandbox(), approve: () => "later" as const, onEvent };
  const runtime = await createRuntime({ tools: [...tools, ...more], ...options });
  return { journal, runtime, [Symbol.asyncDispose]: () => runtime[Symbol.asyncDispose]() };
}

async function eventsOf(program: string, decide = false) {
  await using one = await open();
  const { journal, runtime } = one;
  const report = await runtime.execute(program, { id: "e" });
  if (decide) await runtime.execution("e").resume({ decisions: { 1: { allow: true, by: "ann" } } });
  const records = await Array.fromAsync(journal.read("e"));
  return { report, all: takeRecords(records).flat() };
}

const typesOf = (all: readonly { readonly type: string }[]) => all.map(({ type }) => type);

test("a program's records tell of its beginning, prints, calls and end, in order and with ascending ids", async () => {
  const { all } = await eventsOf("console.log('one'); await tools.a.get({}); console.log('two'); return 1");
  expect(typesOf(all).join(" ")).toBe("execution_started output call_started call_ended output execution_ended");
  expect(all[3]?.data).toMatchObject({ callId: "1", tool: "a.get", outcome: { type: "value", shape: "number" } });
  const places = all.map(({ id }) => Number(id));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(new Set(places).size).toBe(places.length);
});

test("a call that runs elsewhere says where, live and from its records", async () => {
  const live: unknown[] = [];
  await using one = await open([runsAt("mcp files", makeTool({ name: "a.far" }))]);
  const { journal, runtime } = one;
  await runtime.execute("await tools.a.far({}); await tools.a.get({})", {
    id: "e",
    onEvent: (event) => event.type === "call_started" && live.push([event.tool, event.place]),
  });
  const records = await Array.fromAsync(journal.read("e"));
  const later = takeRecords(records)
    .flat()
    .flatMap(({ data }) => (data.type === "call_started" ? [[data.tool, data.place]] : []));
  expect(later).toEqual([
    ["a.far", "mcp files"],
    ["a.get", undefined],
  ]);
  expect(live).toEqual(later);
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

test("a conversation waits once all open calls of its model wait, and not for what its host is to answer", async () => {
  await using one = await open([hold, makeTool({ name: "a.free", ...direct })]);
  const { journal, runtime } = one;
  const calls = ["a.hold", "a.free"].map((tool) => ({ id: tool, tool }));
  const model = scriptedModel([{ calls, programs: ["return 1"] }, { calls: [{ tool: "a.hold" }] }, { text: "done" }]);
  await using talk = await runtime.conversation({ model, id: "c" });
  await talk.send("Go.");
  await runtime.execution("c").decide({ "a.hold": { allow: true } });
  await talk.send();
  await talk.send("Go on.");
  await talk.step("Once more.");
  const told = takeRecords(await Array.fromAsync(journal.read("c"))).flat();
  const waits = told.filter(({ type }) => type === "conversation_waiting");
  expect(waits.map(({ data }) => data)).toMatchObject([
    { waiting: { approvals: [{ callId: "a.hold", tool: "a.hold", why: "approval" }], calls: [] } },
    { waiting: { approvals: [{ tool: "a.hold" }], calls: [] } },
  ]);
  // It waits after the last answer of another call, and before the decision.
  const types = typesOf(told);
  expect(types.indexOf("conversation_waiting")).toBeGreaterThan(types.indexOf("call_ended"));
  expect(types.indexOf("conversation_waiting")).toBeLessThan(types.indexOf("call_decided"));
});

test("a large text is cut with a line that says so", async () => {
  const { all } = await eventsOf("console.log('x'.repeat(200_000)); throw new Error('y'.repeat(100_000))");
  for (const { data } of all) expect(JSON.stringify(data).length).toBeLessThan(40_000);
  expect(JSON.stringify(all.at(-1))).toContain("bytes left out");
});

test.each(DECISIONS)(
  "what is held of thousands of calls that are %s is counted, and given back once they are answered",
  (decision) => {
    const heldBy = (count: number) => {
      const events = new JournalEvents();
      takeRecords([header("e")], events);
      const empty = events.heldBytes;
      beginCalls(events, count, decision);
      const held = events.heldBytes - empty;
      endCalls(events, count);
      expect(events.heldBytes).toBe(empty);
      return held / count;
    };
    const [few, many] = [heldBy(1000), heldBy(2000)];
    // Names and ids of calls are longer than that.
    expect(few).toBeGreaterThan(30);
    expect(many).toBeCloseTo(few, -1);
  },
);

test("the events of the library and those over HTTP fit their schemas, and have no other fields", async () => {
  const told: AgentEvent[] = [];
  const onEvent = (event: AgentEvent) => void told.push(event);
  let tries = 0;
  const flaky = makeTool({
    name: "a.flaky",
    retry: { attempts: 2, delayMs: 1 },
    execute: () => {
      tries += 1;
      if (tries === 1) throw new Error("503");
      return content({ value: 1, display: "shown" });
    },
  });
  await using one = await open([flaky, hold, streaming], onEvent);
  const { journal, runtime } = one;
  const program =
    "for await (const one of tools.a.stream({})); console.log('x'); await save('k', [1]); await tools.a.flaky({}); await tools.a.get({ b: 1 }).catch(() => {}); await tools.a.fail({}).catch(() => {}); return await tools.a.pay({})";
  await runtime.execute(program, { id: "e" });
  await runtime.execution("e").resume({ decisions: { 6: { allow: true, by: "ann", note: "fine" } } });
  await runtime.execute("const [a] = await Promise.all([tools.a.ask({})]); return a", { id: "asks" });
  await runtime.execution("asks").answer({ 1: { value: 5 } });
  await runtime.execute("throw new TypeError('x')", { id: "throws" });
  await runtime.call({ tool: "a.get", input: {}, caller: "programmatic" });
  const model = (name: string, turns: Parameters<typeof scriptedModel>[0]) => scriptedModel(turns, { name });
  const failure = { code: "overloaded", message: "busy" } as const;
  await runtime.agent({
    model: model("x:first", [{ failure }]),
    fallbacks: [model("x:second", [{ text: "so", programs: ["return 1"] }, { text: "done" }])],
    task: "t",
    onEvent,
  });
  await runtime.agent({ model: model("x:third", [{ failure }]), task: "t", onEvent });
  const waits = model("x:fourth", [{ calls: [{ tool: "a.hold" }] }, { text: "done" }]);
  await runtime.agent({ model: waits, task: "t", onEvent });
  const rests = model("x:fifth", [{ text: "one" }, { text: "two" }]);
  await using talk = await runtime.conversation({ model: rests, id: "talk", onEvent });
  await talk.send("Go.");
  await talk.step("Go on.");
  const ofLibrary = { ...CALL_EVENTS, ...PROGRAM_EVENTS, ...CONVERSATION_EVENTS };
  for (const event of told) expect.soft(ofLibrary[event.type].parse(event)).toEqual(event);
  const overHttp = new Set<string>();
  for (const id of new Set(told.map((event) => event.execution))) {
    for (const { type, data } of takeRecords(await Array.fromAsync(journal.read(id))).flat()) {
      overHttp.add(type);
      const event = JSON.parse(JSON.stringify({ ...data, execution: id })) as unknown;
      expect.soft(HTTP_EVENTS[type].parse(event)).toEqual(event);
    }
  }
  const untold = Object.keys(HTTP_EVENTS).filter((type) => !overHttp.has(type));
  expect(untold).toEqual(["execution_restarted", "connection_ended"]);
});

test("long ids and names of a model's calls count as held until their results come", () => {
  const conversation = header("c") as object;
  const events = new JournalEvents();
  takeRecords([{ ...conversation, kind: "conversation", model: "m", task: "t" } as unknown as JournalRecord], events);
  const empty = events.heldBytes;
  const [id, tool] = ["i".repeat(10_000), "t".repeat(10_000)];
  const message = (from: string, value: unknown) =>
    ({ type: "message", from, message: JSON.stringify(value), at: 1 }) as JournalRecord;
  const usage = { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1 };
  const calls = [{ type: "tool_call", id, tool, caller: "direct", inputText: "{}" }];
  takeRecords(
    [message("model", { type: "turn", text: "", calls, hosted: [], end: { type: "called" }, usage })],
    events,
  );
  expect(events.heldBytes - empty).toBeGreaterThan(20_000);
  const provenance = { tool, bytes: 1 };
  takeRecords([message("host", [{ callId: id, text: "1", isJson: true, isError: false, provenance }])], events);
  expect(events.heldBytes).toBe(empty);
});

const ROWS = { type: "call", tool: "rows", caller: "programmatic" } as const;
const itemsOf = (id: number, at: number, count: number) =>
  turn(
    `${frameText({ kind: "items", now: at, id, count, bytes: count * 2 })}\n${JSON.stringify(Array(count).fill(1))}`,
  );

test("a stream is told of a few times a second by the times of its batches, and to its last item before its end", () => {
  const allowed = { ...ROWS, call: "1", decision: "allowed", at: 1 } as const;
  const batches = Array.from({ length: 101 }, (_, index) => itemsOf(1, 1000 + index * 10, 10));
  const answered = { type: "answered", call: "1", ok: true, ms: 5, bytes: 2040, items: 1020, at: 2010 } as const;
  // A handler ends before the program has read its last batch.
  const records = [header("e"), allowed, ...batches, answered, itemsOf(1, 2020, 10)];
  const told = takeRecords(records).flat();
  const streamed = told.flatMap(({ data }) =>
    data.type === "call_streamed" ? [[data.items, data.bytes, data.at]] : [],
  );
  expect(streamed).toEqual([
    [10, 20, 1000],
    [260, 520, 1250],
    [510, 1020, 1500],
    [760, 1520, 1750],
    [1010, 2020, 2000],
    [1020, 2040, 2010],
  ]);
  expect(typesOf(told).slice(-2)).toEqual(["call_streamed", "call_ended"]);
  expect(told.at(-1)?.data).toMatchObject({ items: 1020, bytes: 2040 });
  expect(new Set(told.map(({ id }) => id)).size).toBe(told.length);
});

test("a stream that was given up ends with what the program was given of it", () => {
  const call = { ...ROWS, call: "1" } as const;
  const begun = [header("e"), { ...call, decision: "allowed", at: 1 } as const, itemsOf(1, 10, 3), itemsOf(1, 20, 4)];
  const told = takeRecords([...begun, { ...call, decision: "dropped", at: 30 }]).flat();
  expect(told.slice(-2).map(({ data }) => data)).toMatchObject([
    { type: "call_streamed", items: 7, bytes: 14 },
    { type: "call_ended", items: 7, bytes: 14, outcome: { type: "aborted" } },
  ]);
});

test("calls that no record ends are told of before their execution ends", () => {
  const call = { ...ROWS, decision: "allowed", at: 1 } as const;
  const stops = turn(frameText({ kind: "fire", now: 20, id: 1 }), frameText({ kind: "cancel", id: 1 }));
  const outcome = { type: "outcome", outcome: '{"type":"completed"}', at: 30 } as const;
  const records = [header("e"), { ...call, call: "1" }, { ...call, call: "2" }, itemsOf(1, 10, 3), stops, outcome];
  const told = takeRecords(records).flat();
  expect(told.slice(-3).map(({ data }) => data)).toMatchObject([
    { type: "call_ended", callId: "1", items: 3, bytes: 6, outcome: { shape: "stream of 3, not read to its end" } },
    { type: "call_ended", callId: "2", outcome: { type: "aborted" } },
    { type: "execution_ended" },
  ]);
  expect(new Set(told.map(({ id }) => id)).size).toBe(told.length);
});
