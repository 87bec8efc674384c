import { describe, expect, test } from "vitest";
import { z } from "zod";
import { childExecution } from "../../src/conversations/calls/child-execution.ts";
import { readPastConversation } from "../../src/conversations/from-journal/past-conversation.ts";
import { type CallContext, createRuntime, type Tool } from "../../src/index.ts";
import { realClock } from "../../src/base/clock.ts";
import { CallLedger } from "../../src/gate/call-ledger.ts";
import { createMemoryJournal, type Journal, type JournalRecord } from "../../src/journal/index.ts";
import { createMemorySandbox, scriptedModel, type ScriptedStep } from "../../src/runtime/testing.ts";
import { scriptedGuest } from "../gate/scripted-guest.ts";
import { changedClock } from "../support/clock.ts";
import { agentOf, codeOf, copyOf, endless, makeTool, payTool } from "../support/index.ts";
import { runtimeOf, TEXTS } from "./talk.ts";

const sandbox = createMemorySandbox();
const LEASE_MS = 100;

const CALLERS = ["direct", "programmatic"] as const;

const { tool: pay } = payTool();

const payment = (euros: number) => ({ id: `pay-${euros}`, tool: "pay", input: { euros } });

const isOfHost = (record: JournalRecord) => record.type === "message" && record.from === "host";

function toolOf(
  name: string,
  handler: (input: object, context: CallContext) => unknown,
  effect: "read" | "write" = "read",
) {
  return makeTool({ name, inputSchema: z.object({}), allowedCallers: CALLERS, effect, execute: handler });
}

/** The same executions, as if all had happened that much earlier. */
const earlier = (journal: Journal, byMs: number) =>
  copyOf(journal, (records) =>
    records.map((record): JournalRecord => ("at" in record ? { ...record, at: record.at - byMs } : record)),
  );

// The second time, nothing is loaded any more that would let timers run.
test.each([1, 2])(
  "a call whose time to wait is over when its conversation is taken up is refused, time %d",
  async () => {
    const journal = createMemoryJournal();
    const model = scriptedModel([{ calls: [payment(1)] }, TEXTS]);
    const first = await runtimeOf(journal, [pay]);
    const { execution } = await first.agent({ model, task: "Pay.", limits: { waitMs: 60_000 } });
    const runtime = await runtimeOf(await earlier(journal, 120_000), [pay]);
    const ended = await runtime.execution(execution).resume({ model });
    expect(ended.answer).toContain("no decision");
  },
);

test("a conversation that is cancelled before it is taken up makes no call", async () => {
  const journal = createMemoryJournal();
  const model = scriptedModel([{ calls: [payment(1)] }, TEXTS]);
  const runtime = await runtimeOf(journal, [pay]);
  const { execution } = await runtime.agent({ model, task: "Pay." });
  await runtime.execution(execution).decide({ "pay-1": { allow: true } });
  const ended = await runtime.execution(execution).resume({ model, signal: AbortSignal.abort() });
  expect(ended.ending).toEqual({ type: "cancelled" });
  expect(ended.calls.filter(({ started }) => started)).toEqual([]);
});

describe("a conversation with a program that waits while another call runs", () => {
  const SCRIPT: readonly ScriptedStep[] = [
    { calls: [{ id: "slow-1", tool: "slow" }], programs: ["return tools.pay({ euros: 1 })"] },
    TEXTS,
  ];

  async function waiting(limits: { readonly calls?: number } = {}) {
    const journal = createMemoryJournal();
    const released = Promise.withResolvers<string>();
    const runtime = await runtimeOf(journal, [pay, toolOf("slow", () => released.promise)]);
    const waits = Promise.withResolvers<void>();
    const abort = new AbortController();
    const running = runtime.agent({
      model: scriptedModel(SCRIPT),
      task: "Pay.",
      id: "one",
      limits,
      signal: abort.signal,
      onEvent: ({ type }) => type === "execution_waiting" && waits.resolve(),
    });
    await waits.promise;
    return { journal, runtime, running, abort, release: () => released.resolve("slow") };
  }

  test("counts the calls of the program once when it goes on", async () => {
    const { runtime, running, release } = await waiting({ calls: 3 });
    await runtime.execution("one").decide({ "call-2/1": { allow: true } });
    release();
    const { answer, usage } = await running;
    expect(answer).toContain('{"paid":1}');
    expect(usage.calls).toBe(2);
  });

  test("ends with its program when it is cancelled", async () => {
    const { journal, running, abort } = await waiting();
    abort.abort();
    expect((await running).ending).toEqual({ type: "cancelled" });
    expect(await Array.fromAsync(journal.list({ open: true }))).toEqual([]);
  });
});

test.each<[string, ScriptedStep]>([
  ["a conversation", { calls: [{ id: "d", tool: "desk", input: { task: "x" } }] }],
  ["a program", { programs: ['return tools.desk({ task: "x" })'] }],
])("an agent leaves its conversation to the driver that has taken over its caller, %s", async (_, step) => {
  const { journal, lost } = losable(createMemoryJournal());
  const begun = endless();
  const inner = scriptedModel([begun.run]);
  const runtime = await runtimeOf(journal, [agentOf("desk", inner)]);
  const running = runtime.agent({ model: scriptedModel([step]), task: "Ask.", id: "one" });
  running.catch(() => {});
  await begun.begun;
  const open = (await Array.fromAsync(journal.list({ open: true }), ({ execution }) => execution)).toSorted();
  const { records } = await journal.find("one");
  await journal.append("one", records, [{ type: "claim", driver: "other", leaseMs: 10_000, at: Date.now() }]);
  await expect(running).rejects.toMatchObject({ code: "head_moved" });
  // The last thing that a driver does is to give its lease back.
  await lost(open.filter((execution) => execution !== "one"));
  expect((await Array.fromAsync(journal.list({ open: true }), ({ execution }) => execution)).toSorted()).toEqual(open);
});

/** A journal that tells when the leases of executions were given back, or their outcomes appended. */
function losable(journal: Journal): {
  readonly journal: Journal;
  readonly lost: (executions: readonly string[]) => Promise<unknown>;
} {
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const endOf = (execution: string) => {
    const end = ends.get(execution) ?? Promise.withResolvers<void>();
    ends.set(execution, end);
    return end;
  };
  return {
    lost: (executions) => Promise.all(executions.map((execution) => endOf(execution).promise)),
    journal: {
      ...journal,
      append: async (execution, ...given) => {
        const head = await journal.append(execution, ...given);
        if (given[1].some(({ type }) => type === "outcome")) endOf(execution).resolve();
        return head;
      },
      renew: async (execution, lease) => {
        if (lease.until === 0) endOf(execution).resolve();
        return journal.renew(execution, lease);
      },
    },
  };
}

describe("an execution of another under the id that a call's own would have", () => {
  test("is not read as the program of the call, and none of it is shown or counted", async () => {
    const journal = createMemoryJournal();
    const runtime = await runtimeOf(journal, [pay]);
    const script: readonly ScriptedStep[] = [{ calls: [payment(1)], programs: ["return 1"] }, TEXTS];
    const model = scriptedModel(script);
    const foreign = childExecution("one", "call-2");
    await runtime.execute("return tools.pay({ euros: 666 })", { id: foreign, tenant: "other" });
    // The program of the call cannot begin.
    expect(await codeOf(runtime.agent({ model, task: "Pay.", id: "one" }))).toBe("execution_exists");
    const copy = await copyOf(journal, (records) => records.filter(({ type }) => type !== "outcome"));
    const past = await readPastConversation(copy, "one");
    expect(past.open.get("call-2")).toMatchObject({ program: undefined });
    expect(past.use.lines).toEqual([]);
  });
});

test("a conversation that was taken up where its programs cannot run stays open", async () => {
  const journal = createMemoryJournal();
  const model = scriptedModel([{ programs: ["return tools.pay({ euros: 1 })"] }, TEXTS]);
  const runtime = await runtimeOf(journal, [pay]);
  await runtime.agent({ model, task: "Pay.", id: "one" });
  await runtime.execution("one").decide({ "call-1/1": { allow: true } });
  const broken = { ...sandbox, open: async () => Promise.reject(new Error("no engine")) };
  await using without = await createRuntime({ tools: [pay], journal, sandbox: broken, leaseMs: LEASE_MS });
  await expect(without.execution("one").resume({ model })).rejects.toThrow("no engine");
  expect((await runtime.execution("one").resume({ model })).answer).toBe('{"paid":1}');
});

test("tokens that an agent has used in a turn do not keep the turn's approved calls from being made", async () => {
  const journal = createMemoryJournal();
  const inner = scriptedModel([{ text: "Done.", usage: { outputTokens: 100 } }]);
  const runtime = await runtimeOf(journal, [pay, agentOf("desk", inner)]);
  const model = scriptedModel([{ calls: [payment(1), { id: "d", tool: "desk", input: { task: "x" } }] }, TEXTS]);
  const { execution } = await runtime.agent({ model, task: "Pay.", loop: { maxTokens: 50 } });
  const ended = await runtime.execution(execution).resume({ model, decisions: { "pay-1": { allow: true } } });
  expect(ended.ending).toMatchObject({ type: "tokens_spent", seen: 100 });
  expect(ended.transcript.turns[0]?.results.map(({ text }) => text)).toEqual(['{"paid":1}', '"Done."']);
});

describe("recover ends what was left by callers that have ended", () => {
  test.each<[string, readonly Tool[], ScriptedStep, number]>([
    ["a program that waits", [pay], { programs: ["return tools.pay({ euros: 1 })"] }, 1],
    [
      "the conversation of an agent",
      [agentOf("desk", scriptedModel([{ text: "Done." }]))],
      { calls: [{ id: "d", tool: "desk", input: { task: "x" } }] },
      1,
    ],
  ])("%s", async (_, tools, step) => {
    const journal = createMemoryJournal();
    const runtime = await runtimeOf(journal, tools);
    await runtime.agent({ model: scriptedModel([step, TEXTS]), task: "Pay.", id: "one" });
    const outcome = { type: "outcome", outcome: JSON.stringify({ type: "cancelled" }), at: Date.now() } as const;
    const copy = await copyOf(journal, (records, execution) => {
      const kept = records.filter(({ type }) => type !== "outcome");
      return execution === "one" ? [...kept, outcome] : kept;
    });
    const after = await runtimeOf(copy, tools);
    const told = await Array.fromAsync(after.recover({ model: () => undefined }));
    expect(told).toHaveLength(1);
    expect(await Array.fromAsync(copy.list({ open: true }))).toEqual([]);
  });
});

test("a call that was given up while its handler ran is not run again without a decision", async () => {
  const journal = createMemoryJournal();
  let ran = 0;
  const send = toolOf("send", () => ran++, "write");
  const runtime = await runtimeOf(journal, [pay, send]);
  const model = scriptedModel([{ calls: [payment(1), { id: "send-1", tool: "send" }] }, TEXTS]);
  await runtime.agent({ model, task: "Pay.", id: "one" });
  expect(ran).toBe(1);
  const given = { type: "call", call: "send-1", tool: "send", caller: "direct", decision: "dropped", at: 0 } as const;
  // Its result is missing.
  const isKept = (record: JournalRecord) => record.type !== "answered" && !isOfHost(record);
  const copy = await copyOf(journal, (records) => [...records.filter(isKept), given]);
  const after = await runtimeOf(copy, [pay, send]);
  const { ending } = await after.execution("one").resume({ model, decisions: { "pay-1": { allow: true } } });
  expect(ending).toMatchObject({ type: "waiting", approvals: [{ callId: "send-1", why: "outcome_unknown" }] });
  expect(ran).toBe(1);
});

test("the result of a call that is made again counts once", async () => {
  const journal = createMemoryJournal();
  const big = toolOf("big", () => "x".repeat(1000));
  const runtime = await runtimeOf(journal, [pay, big]);
  const model = scriptedModel([{ calls: [payment(1), { id: "big-1", tool: "big" }] }, TEXTS]);
  await runtime.agent({ model, task: "Pay.", id: "one" });
  const again = { type: "answered", call: "big-1", ok: true, ms: 1, bytes: 1002, shape: "text", at: 0 } as const;
  const copy = await copyOf(journal, (records) => [...records.filter((record) => !isOfHost(record)), again]);
  expect((await readPastConversation(copy, "one")).use).toMatchObject({ resultBytes: 0, lines: [] });
});

test("the programs of a conversation need approval also where it is taken up without that option", async () => {
  const journal = createMemoryJournal();
  const runtime = await runtimeOf(journal, [pay]);
  const model = scriptedModel([{ calls: [payment(1)] }, { programs: ["return 1"] }, TEXTS]);
  await runtime.agent({ model, task: "Pay.", id: "one", approvePrograms: true });
  const resumed = await runtime.execution("one").resume({ model, decisions: { "pay-1": { allow: true } } });
  expect(resumed.ending).toMatchObject({ type: "waiting", approvals: [{ tool: "run_program" }] });
});

test("a program that was taken up calls no tool that it did not begin with, whatever its guest sends", async () => {
  let ran = 0;
  const secret = toolOf("secret", () => ran++);
  const call = (tool: string, body: string) => [{ kind: "call", tool, body, idStep: 1 }] as const;
  const heard: string[] = [];
  const guest = () => scriptedGuest([call("pay", '{"euros":1}'), call("secret", "{}"), []], heard);
  const scripted = createMemorySandbox({ guest });
  await using runtime = await createRuntime({
    tools: [pay, secret],
    sandbox: scripted,
    approve: () => "later",
  });
  await runtime.execute("return 1", { id: "one", tools: ["pay"] });
  await runtime.execution("one").resume({ decisions: { "1": { allow: true } } });
  expect(heard.at(-1)).toContain("tool_unknown");
  expect(ran).toBe(0);
});

/** A tool whose handler adds its idempotency key to these. */
function keyTool(name: string, keys: Set<string>) {
  return toolOf(name, (_, { idempotencyKey }) => keys.add(idempotencyKey).size);
}

test("two calls never have one idempotency key, whatever the ids of their executions", async () => {
  const keys = new Set<string>();
  const runtime = await runtimeOf(createMemoryJournal(), [keyTool("key", keys)]);
  for (const [execution, id] of [
    ["a", "b:c"],
    ["a:b", "c"],
  ] as const)
    await runtime.agent({
      model: scriptedModel([{ calls: [{ id, tool: "key" }] }, TEXTS]),
      task: "Do it.",
      id: execution,
    });
  expect(keys.size).toBe(2);
});

test("nor if the host calls two tools with one key and input", async () => {
  const keys = new Set<string>();
  const runtime = await runtimeOf(createMemoryJournal(), [keyTool("pay", keys), keyTool("refund", keys)]);
  for (const tool of ["pay", "refund", "pay"])
    await runtime.call({ tool, input: {}, caller: "direct", idempotencyKey: "order-7" });
  expect(keys.size).toBe(2);
});

test.each([
  ["other keys than before", "is deleted from a durable journal", true, 2],
  ["the same keys", "a journal in memory has forgotten, and a client may repeat", false, 1],
])("calls have %s under the id of an execution that %s", async (_, _why, isDurable, differ) => {
  const [ofProgram, ofModel] = [new Set<string>(), new Set<string>()];
  let shift = 0;
  changedClock({ now: () => realClock.now() + shift });
  for (; shift < 2000; shift += 1000) {
    const journal = { ...createMemoryJournal(), isDurable };
    const runtime = await runtimeOf(journal, [keyTool("program", ofProgram), keyTool("model", ofModel)]);
    await runtime.execute("await tools.program({});", { id: "p" });
    const model = scriptedModel([{ calls: [{ id: "1", tool: "model" }] }, TEXTS]);
    await runtime.agent({ model, task: "Do it.", id: "c" });
  }
  expect([ofProgram.size, ofModel.size]).toEqual([differ, differ]);
});

test.each([
  ["more calls than a turn may make", Array.from({ length: 1001 }, (_, index) => `c-${index}`)],
  ["two calls of one id", ["c", "c"]],
])("a recorded turn with %s is refused", async (_, ids) => {
  const journal = createMemoryJournal();
  const runtime = await runtimeOf(journal, [pay]);
  const model = scriptedModel([{ calls: [payment(1)] }, TEXTS]);
  await runtime.agent({ model, task: "Pay.", id: "one" });
  const copy = await copyOf(journal, ([header, ...records]) => [
    header as JournalRecord,
    ...records.flatMap((record) => {
      if (record.type !== "message") return [];
      const turn = JSON.parse(record.message) as { readonly calls: readonly object[] };
      return [{ ...record, message: JSON.stringify({ ...turn, calls: ids.map((id) => ({ ...turn.calls[0], id })) }) }];
    }),
  ]);
  const after = await runtimeOf(copy, [pay]);
  await expect(after.execution("one").resume({ model })).rejects.toMatchObject({ code: "journal_invalid" });
});

test("a conversation with more calls than a function takes arguments is taken up", () => {
  const line = { callId: "1", tool: "t", caller: "direct", started: true, bytes: 0, ms: 0 } as const;
  const lines = Array.from({ length: 200_000 }, () => ({ ...line, outcome: { type: "aborted" } as const }));
  const past = { calls: 0, openCalls: 0, inputBytes: 0, resultBytes: 0, lines };
  const log = { append: async () => {}, appendSafely: async () => {}, defer: () => {}, catchUp: async () => {} };
  const ledger = new CallLedger({ execution: "one", past, log, above: undefined, onEvent: () => {} });
  expect(ledger.lines).toHaveLength(200_000);
});

test("an agent that is a tool works in a program that was taken up", async () => {
  const helper = agentOf("helper", scriptedModel([{ text: "helped" }]));
  const runtime = await runtimeOf(createMemoryJournal(), [helper, pay]);
  const program = 'await tools.pay({ euros: 1 }); return await tools.helper({ task: "t" });';
  await runtime.execute(program, { id: "one" });
  const { outcome } = await runtime.execution("one").resume({ decisions: { 1: { allow: true } } });
  expect(outcome).toEqual({ type: "completed", value: "helped" });
});
