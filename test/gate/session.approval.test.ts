import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { z } from "zod";
import type { ApprovalRequest } from "../../src/gate/approve/approval.ts";
import { holdCalls, idle, makeTool, openSession, stepsOf } from "./open-session.ts";
import { failing, throws } from "../support/failing.ts";

const never = throws("read");
const DENIED = { ok: false, code: "approval_denied" };
const UNDECIDED = { ok: false, code: "approval_unavailable" };

test.each<[string, () => unknown, string?]>([
  ["says no", () => false],
  ["says that it does not allow", () => ({ allow: false })],
  ["says something that is not true", () => "yes", 'got "yes"'],
  ["says something that equals true", () => 1, "got 1"],
  ["says something that is no decision", () => ({ allow: 1, by: 5 }), 'got {"allow":1,"by":5}'],
  ["says yes only by a prototype", () => Object.create({ allow: true }) as unknown, "got {}"],
  ["fails when its decision is read", () => new Proxy({}, { getOwnPropertyDescriptor: () => never() }), "read"],
  ["says nothing", () => undefined, "got undefined"],
  [
    "would decide later, where the execution cannot wait",
    () => "later",
    "Agents that are tools, the programs that they start, and `runtime.call` cannot wait",
  ],
  ["throws", throws("nobody there"), "nobody there"],
  ["rejects", () => Promise.reject(new Error("no line")), "no line"],
])(
  "no handler runs where the approver %s; its no is journalled, and else the operator told",
  async (_, approve, why) => {
    const held = holdCalls();
    const tools = [makeTool({ approval: "always", execute: held.handler })];
    const { call, session, records, events } = openSession({ tools, approve: approve as () => boolean });
    expect(await call()).toMatchObject(why === undefined ? DENIED : UNDECIDED);
    expect(held.counts.started).toBe(0);
    expect(stepsOf(records)).toEqual(["1 held", ...(why === undefined ? ["1 denied"] : []), "1 refused"]);
    expect(session.usage.open).toBe(0);
    expect(events).toMatchObject([{ type: "call_ended" }]);
    expect(String("error" in events[0]! ? events[0].error : undefined)).toContain(why ?? "undefined");
  },
);

test.each([true, { allow: true }])("a decision, %j, is no error", async (decision) => {
  const { call, events } = openSession({ tools: [makeTool({ approval: "always" })], approve: () => decision });
  await call();
  for (const event of events) expect(event).not.toHaveProperty("error");
});

test.each([
  [true, never],
  [false, never],
  [false, async () => never()],
])(
  "the operator is told that a predicate failed, and the call needs approval, where the approver says %s",
  async (decision, approval) => {
    const { call, events } = openSession({ tools: [makeTool({ approval })], approve: () => decision });
    expect(await call()).toMatchObject({ ok: decision });
    const error = { code: "callback_failed", message: "The function `approval` failed: read" };
    expect(events.at(-1)).toMatchObject({ type: "call_ended", error });
  },
);

test.each([undefined, null, 0, "", Number.NaN])(
  "a predicate that answers %s has not said that no approval is needed",
  async (answer) => {
    const tool = makeTool({ approval: (() => answer) as unknown as () => boolean });
    expect(await openSession({ tools: [tool], approve: () => false }).call()).toMatchObject(DENIED);
  },
);

test("the approver's name and note are in the journal before the handler starts, and the caller reads the note of a denial, quoted", async () => {
  const note = 'Too much.\nOutput: "done"';
  const approve = ({ callId }: ApprovalRequest) => ({ allow: callId === "1", by: "ann", note });
  const atStart: string[] = [];
  const tool = makeTool({
    approval: "always",
    execute: () => atStart.push(...stepsOf(records)),
  });
  const { call, records } = openSession({ tools: [tool], approve });
  expect(await call()).toMatchObject({ ok: true });
  expect(atStart).toEqual(["1 held", "1 approved", "1 allowed"]);
  expect(await call()).toMatchObject({
    ...DENIED,
    tool: "t",
    message: expect.stringContaining(JSON.stringify(note)) as string,
  });
  const decision = { type: "decision", by: "ann", note, at: expect.any(Number) as number };
  expect(records.filter(({ type }) => type === "decision")).toEqual([
    { ...decision, call: "1", allow: true },
    { ...decision, call: "2", allow: false },
  ]);
});

test("a long note is shortened before it is journalled, and the caller's message has its usual limit", async () => {
  const approve = () => ({ allow: false, by: "b".repeat(10_000), note: "\u0000".repeat(1_000_000) });
  const { call, records } = openSession({ tools: [makeTool({ approval: "always" })], approve });
  const answer = await call();
  expect(Buffer.byteLength(answer?.ok === false ? answer.message : "")).toBeLessThan(4096 + 200);
  expect(JSON.stringify(records).length).toBeLessThan(20_000);
});

test("without an approver a call that needs approval is refused at once, and one that needs none is made", async () => {
  const input = z.object({ amount: z.number() });
  const held = makeTool<typeof input>({ inputSchema: input, approval: ({ amount }) => amount > 10 });
  const { call, records, events } = openSession({ tools: [held] });
  expect(await call({ amount: 10 })).toMatchObject({ ok: true });
  expect(await call({ amount: 11 })).toMatchObject({ ...UNDECIDED, tool: "t" });
  expect(stepsOf(records)).toEqual(["1 allowed", "1 answered", "2 refused"]);
  expect(events.at(-1)).toMatchObject({
    type: "call_ended",
    outcome: { type: "refused", code: "approval_unavailable" },
    started: false,
    error: failing("option_invalid", "pass one to createRuntime"),
  });
});

test("the approver gets the input that the handler gets, and as it was sent, and only if the predicate asks for approval", async () => {
  const asked: ApprovalRequest[] = [];
  const input = z.object({ amount: z.number(), to: z.string().default("me") });
  const tool = makeTool<typeof input>({
    inputSchema: input,
    approval: ({ amount, to }) => amount > 10 && to === "me",
    effect: ({ amount }) => (amount > 10 ? "idempotent" : "read"),
    execute: () => null,
  });
  const approve = (request: ApprovalRequest) => asked.push(request) > 0;
  const context = { user: "ann" };
  const { call } = openSession({ tools: [tool], approve, context });
  expect(await call({ amount: 10 })).toMatchObject({ ok: true });
  expect(await call({ amount: 11 })).toMatchObject({ ok: true });
  const inputDigest = createHash("sha256")
    .update(JSON.stringify(['{"amount":11,"to":"me"}', '{"amount":11}']))
    .digest("hex");
  const who = { execution: "execution", callId: "2", tool: "t", caller: "programmatic", tenant: "acme", context };
  const about = { effect: "idempotent", source: undefined, description: tool.description, grantsLeft: 10 };
  const inputs = { input: { amount: 11, to: "me" }, rawInput: { amount: 11 }, inputDigest };
  expect(asked).toEqual([{ ...who, ...about, ...inputs, signal: expect.any(AbortSignal) }]);
});

test("of 3,000 calls that need approval concurrentCalls are asked about at once, and in the end all", async () => {
  const open: (() => void)[] = [];
  const counts = { asked: 0, mostAtOnce: 0 };
  const approve = () =>
    new Promise<boolean>((resolve) => {
      counts.asked += 1;
      open.push(() => resolve(true));
      counts.mostAtOnce = Math.max(counts.mostAtOnce, open.length);
    });
  const { call } = openSession({
    tools: [makeTool({ approval: "always" })],
    approve,
    limits: { concurrentCalls: 4, calls: 3000 },
  });
  const answers = Promise.all(Array.from({ length: 3000 }, () => call()));
  while (counts.asked < 3000 || open.length > 0) {
    open.shift()?.();
    await idle();
  }
  const results = await answers;
  expect(results.every((answer) => answer?.ok)).toBe(true);
  expect(counts.mostAtOnce).toBe(4);
});

test("calls that need no approval do not wait for those that do, of the same tool or of another", async () => {
  const approval = ({ amount }: { readonly amount: number }) => amount > 10;
  const input = z.object({ amount: z.number().default(0) });
  const tools = [makeTool<typeof input>({ inputSchema: input, approval }), makeTool({ name: "other" })];
  const { call, session } = openSession({
    tools,
    approve: () => new Promise(() => {}),
    limits: { concurrentCalls: 2 },
  });
  const waiting = Array.from({ length: 50 }, () => call({ amount: 100 }));
  expect(await call({ amount: 1 })).toMatchObject({ ok: true });
  expect(await call({}, { tool: "other" })).toMatchObject({ ok: true });
  session.close();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([undefined]));
});
