import { createHash } from "node:crypto";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { heldWithin, PortcullisError } from "../../src/base/index.ts";
import { Gate } from "../../src/gate/gate.ts";
import type { CallContext } from "../../src/tools/tool.ts";
import { Content } from "../../src/tools/content.ts";
import { ToolSet } from "../../src/tools/tool-set.ts";
import { holdCalls, idle, makeTool, openSession, stepsOf } from "./open-session.ts";

test("of a thousand unknown names that come at once, the first ten get a hint", async () => {
  const { call } = openSession({ tools: [makeTool({ name: "billing.list" })] });
  const answers = await Promise.all(Array.from({ length: 1000 }, () => call({}, { tool: "billing.lst" })));
  const hinted = answers.filter((answer) => JSON.stringify(answer).includes("Did you mean billing.list?"));
  expect(hinted).toEqual(answers.slice(0, 10));
});

// ---- its turn --------------------------------------------------------------------------------------------------

test("an execution runs concurrentCalls calls at once, and each one that ends starts the next", async () => {
  const held = holdCalls();
  const { call } = openSession({ tools: [makeTool({ execute: held.handler })], limits: { concurrentCalls: 2 } });
  const answers = Array.from({ length: 5 }, () => call());
  for (let ended = 0; ended < 5; ended += 1) {
    await held.untilStarted(Math.min(5, ended + 2));
    await idle();
    expect(held.counts.started).toBe(Math.min(5, ended + 2));
    held.release();
  }
  expect(await Promise.all(answers)).toEqual(
    Array.from({ length: 5 }, () => ({ ok: true, text: '"released"', bytes: 10 })),
  );
  expect(held.counts.mostAtOnce).toBe(2);
});

test("a tool's concurrency applies to all sessions together, and other tools do not wait for it", async () => {
  const [narrow, wide] = [holdCalls(), holdCalls()];
  const tools = [
    makeTool({ name: "narrow", concurrency: 2, execute: narrow.handler }),
    makeTool({ name: "wide", execute: wide.handler }),
  ];
  const gate = new Gate(new ToolSet(tools));
  const sessions = ["one", "two", "three"].map((execution) => openSession({ gate, execution }));
  const answers = sessions.flatMap(({ call }) => [call({}, { tool: "narrow" }), call({}, { tool: "wide" })]);
  await Promise.all([narrow.untilStarted(2), wide.untilStarted(3)]);
  await idle();
  expect([narrow.counts.started, wide.counts.started]).toEqual([2, 3]);
  narrow.release();
  await narrow.untilStarted(3);
  for (let open = 0; open < 3; open += 1) {
    narrow.release();
    wide.release();
  }
  expect(await Promise.all(answers)).toHaveLength(6);
  expect(narrow.counts.mostAtOnce).toBe(2);
  expect(wide.counts.mostAtOnce).toBe(3);
});

test("a call that waits for its tool's concurrency counts against concurrentCalls", async () => {
  const [narrow, wide] = [holdCalls(), holdCalls()];
  const tools = [
    makeTool({ name: "narrow", concurrency: 1, execute: narrow.handler }),
    makeTool({ name: "wide", execute: wide.handler }),
  ];
  const { call } = openSession({ tools, limits: { concurrentCalls: 2 } });
  const answers = ["narrow", "narrow", "wide"].map((tool) => call({}, { tool }));
  await narrow.untilStarted(1);
  await idle();
  expect([narrow.counts.started, wide.counts.started]).toEqual([1, 0]);
  narrow.release();
  await Promise.all([narrow.untilStarted(2), wide.untilStarted(1)]);
  narrow.release();
  wide.release();
  expect(await Promise.all(answers)).toMatchObject([{ ok: true }, { ok: true }, { ok: true }]);
});

// ---- what a handler is told --------------------------------------------------------------------------------------

/** Calls once and hands out the context that the handler got. */
async function contextOf(execution: string, input: unknown, callId: string): Promise<CallContext> {
  const contexts: CallContext[] = [];
  const tool = makeTool({ execute: (_, context) => void contexts.push(context) });
  await openSession({ tools: [tool], execution }).call(input, { callId });
  return contexts[0] as CallContext;
}

test("the idempotency key is made of execution, call id and the digest of the input's text, and does not change", async () => {
  const digest = createHash("sha256").update('{"a":"ü"}').digest("hex");
  const { idempotencyKey } = await contextOf("e1", { a: "ü" }, "7");
  expect(idempotencyKey).toBe(`e1:7:${digest}`);
  expect((await contextOf("e1", { a: "ü" }, "7")).idempotencyKey).toBe(idempotencyKey);
  const others = [
    await contextOf("e2", { a: "ü" }, "7"),
    await contextOf("e1", { a: "ü" }, "8"),
    await contextOf("e1", { a: "u" }, "7"),
  ];
  expect(new Set(others.map((other) => other.idempotencyKey).concat(idempotencyKey)).size).toBe(4);
});

// ---- lateness and closing ----------------------------------------------------------------------------------------

test("a late handler's signal is aborted, whether it is read before or after the timeout", async () => {
  const contexts: CallContext[] = [];
  const heard: unknown[] = [];
  const tool = makeTool({
    timeoutMs: 1,
    execute: ({ early }, context) => {
      contexts.push(context);
      if (early === true) context.signal.addEventListener("abort", () => heard.push(context.signal.reason));
      return new Promise(() => {});
    },
  });
  const { call, session } = openSession({ tools: [tool] });
  const answers = await Promise.all([call({ early: true }), call({ early: false })]);
  expect(answers).toMatchObject([{ code: "handler_timed_out" }, { code: "handler_timed_out" }]);
  const reason = new Error("The call took longer than 1 ms.");
  expect(heard).toEqual([reason]);
  expect(contexts.map(({ signal }) => [signal.aborted, signal.reason])).toEqual([
    [true, reason],
    [true, reason],
  ]);
  expect(session.usage.open).toBe(0);
});

test("what a late handler returns or throws changes no answer and causes no event", async () => {
  const held = holdCalls();
  const { call, session, events } = openSession({ tools: [makeTool({ timeoutMs: 1, execute: held.handler })] });
  expect(await call()).toMatchObject({ code: "handler_timed_out" });
  held.release();
  await idle();
  expect(session.ledger.lines).toMatchObject([{ outcome: { type: "failed", code: "handler_timed_out" } }]);
  expect(events.map(({ type }) => type)).toEqual(["call_started", "call_ended"]);
});

// ---- the journal -------------------------------------------------------------------------------------------------

test("where the journal cannot be written, no handler runs and the call rejects with the cause", async () => {
  const held = holdCalls();
  const gone = new Error("the store is gone");
  const { call } = openSession({ tools: [makeTool({ execute: held.handler })], append: () => Promise.reject(gone) });
  await expect(call()).rejects.toBe(gone);
  await expect(call({}, { tool: "unknown" })).rejects.toBe(gone);
  expect(held.counts.started).toBe(0);
});

test("a large input is checked against its schema in a later turn of the event loop than it is parsed in", async () => {
  let turn = 0;
  const seen: Record<string, number> = {};
  const count = () => {
    turn += 1;
    if (turn > 0) setImmediate(count);
  };
  setImmediate(count);
  const inputText = JSON.stringify({ a: Array.from({ length: 5000 }, () => 1) });
  const { parse } = JSON;
  const spy = vi.spyOn(JSON, "parse").mockImplementation((text: string) => {
    if (text === inputText) seen.parsed ??= turn;
    return parse(text) as unknown;
  });
  const input = z.looseObject({}).refine(() => (seen.checked = turn) >= 0);
  const { call } = openSession({ tools: [makeTool({ inputSchema: input })] });
  expect(await call(parse(inputText))).toMatchObject({ ok: true });
  turn = Number.NEGATIVE_INFINITY;
  spy.mockRestore();
  expect(seen.checked).toBeGreaterThan(seen.parsed ?? Number.POSITIVE_INFINITY);
});

// ---- given up --------------------------------------------------------------------------------------------------

test("a call that is given up is aborted, journalled as dropped and has no answer, and the session continues", async () => {
  const held = holdCalls();
  const contexts: CallContext[] = [];
  const handler = (_: unknown, context: CallContext) => {
    contexts.push(context);
    return held.handler();
  };
  const { session, call, records, events } = openSession({ tools: [makeTool({ execute: handler })] });
  const [late, good] = [call({}, { callId: "late" }), call({}, { callId: "good" })];
  await held.untilStarted(2);
  await session.giveUp("late", "Nobody waits any more.");
  expect(await late).toBeUndefined();
  expect(contexts[0]?.signal.reason).toEqual(new Error("Nobody waits any more."));
  held.release();
  held.release();
  expect(await good).toMatchObject({ ok: true });
  await session.giveUp("late", "Again.");
  await session.giveUp("good", "Too late.");
  expect(stepsOf(records)).toEqual(["late allowed", "good allowed", "late dropped", "good answered"]);
  expect(session.ledger.lines).toMatchObject([
    { callId: "late", outcome: { type: "aborted" }, started: true },
    { callId: "good", outcome: { type: "value" } },
  ]);
  expect(events.filter(({ type }) => type === "call_ended")).toHaveLength(2);
});

// ---- what is held ------------------------------------------------------------------------------------------------

const MESSAGE_BYTES = 4200;

test.each<[string, Partial<Parameters<typeof makeTool>[0]>, unknown, string | undefined]>([
  [
    "a handler's own message",
    {
      execute: () => {
        throw new PortcullisError("tool_failed", `It failed. ${"→".repeat(1_000_000)} The end.`);
      },
    },
    {},
    undefined,
  ],
  ["the path to a fault", { inputSchema: z.strictObject({}) }, { ["x".repeat(300_000)]: 1 }, undefined],
  ["many faults", { inputSchema: z.record(z.string(), z.number()) }, { ["x".repeat(400_000)]: "a", b: "c" }, undefined],
  ["a name that no tool has", {}, {}, "x".repeat(1_000_000)],
])("what a caller is told has a few kilobytes, and says that it was cut: %s", async (_, changes, input, tool) => {
  const { call } = openSession({ tools: [makeTool(changes)] });
  const answer = await call(input, tool === undefined ? {} : { tool });
  if (answer?.ok !== false) throw new Error("it was answered");
  expect(Buffer.byteLength(answer.message)).toBeLessThan(MESSAGE_BYTES);
  expect(answer.tool.length).toBeLessThan(300);
  expect(answer.message).toMatch(/…/);
  expect(answer.message).not.toContain("\ufffd");
});

test("messages of failures count against totalBytes", async () => {
  const handler = () => {
    throw new PortcullisError("tool_failed", "x".repeat(4000));
  };
  const { call } = openSession({ tools: [makeTool({ execute: handler })], limits: { totalBytes: 10_000 } });
  const codes: (string | undefined)[] = [];
  for (let n = 0; n < 4; n += 1) {
    const answer = await call();
    codes.push(answer?.ok === false ? answer.code : "ok");
  }
  expect(codes).toEqual(["handler_failed", "handler_failed", "handler_failed", "budget_spent"]);
});

test.each([
  ["what is shown to people", { display: { diff: "x".repeat(3000) } }],
  ["the same of a failure", { display: { diff: "x".repeat(3000) }, isError: true }],
  ["what a result names", { names: Array.from({ length: 100 }, (_, index) => `https://example.com/${index}`) }],
])("%s counts against totalBytes", async (_, beside) => {
  const handler = () => new Content({ value: 1, ...beside });
  const { call, session, records } = openSession({
    tools: [makeTool({ execute: handler })],
    limits: { totalBytes: 13_000 },
  });
  for (let n = 0; n < 3; n += 1) await call();
  expect(session.ledger.lines.at(-1)).toMatchObject({ outcome: { type: "failed", code: "result_over_budget" } });
  expect(JSON.stringify([session.ledger.lines.at(-1), records.at(-1)]).length).toBeLessThan(1000);
});

const dead = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const withoutPrototype = new Proxy({}, { getPrototypeOf: () => JSON.parse("") as object });

test.each<[string, () => unknown]>([
  ["is a revoked proxy", dead],
  ["has a revoked proxy for a value", () => new Content({ value: dead() })],
  ["has failed with a revoked proxy", () => new Content({ value: dead(), isError: true })],
  ["cannot be asked for its prototype", () => withoutPrototype],
])("a result that %s fails its call, and nothing else", async (_, handler) => {
  const { call } = openSession({ tools: [makeTool({ execute: handler })] });
  expect(await call()).toMatchObject({ ok: false });
});

test("a long text in an object of its own is that text", async () => {
  const { call } = openSession({ tools: [makeTool({ execute: () => [Object("x".repeat(100_000))] })] });
  expect(await call()).toMatchObject({ ok: true, text: JSON.stringify(["x".repeat(100_000)]) });
});

test("a text with a character beyond ASCII counts two bytes for each character", async () => {
  const { call } = openSession({
    tools: [makeTool({ execute: () => `${"x".repeat(6000)}→` })],
    limits: { totalBytes: 10_000 },
  });
  expect(await call()).toMatchObject({ code: "result_over_budget" });
});

test("inputs are parsed when it is a call's turn, and not before", async () => {
  const held = holdCalls();
  const parse = vi.fn(() => true);
  const { call, session } = openSession({
    tools: [makeTool({ inputSchema: z.looseObject({}).refine(parse), execute: held.handler })],
    limits: { concurrentCalls: 3 },
  });
  const answers = Array.from({ length: 20 }, () => call());
  await held.untilStarted(3);
  await idle();
  expect(parse).toHaveBeenCalledTimes(3);
  session.close();
  await Promise.all(answers);
});

test("if heldBytes is spent, a call is refused and calls of other executions continue", async () => {
  const gate = new Gate(new ToolSet([makeTool({ execute: () => "x".repeat(1000) })]), heldWithin(10_000));
  const [greedy, modest] = [openSession({ gate }), openSession({ gate })];
  let answer = await greedy.call();
  while (answer?.ok === true) answer = await greedy.call();
  expect(answer).toMatchObject({ ok: false, code: "budget_spent" });
  expect(answer?.ok === false && answer.message).toContain("the runtime's heldBytes");
  expect(await modest.call()).toMatchObject({ ok: true });
  const { held } = gate;
  greedy.session.close();
  modest.session.close();
  expect(held.held).toBe(0);
});
