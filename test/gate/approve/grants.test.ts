import { afterEach, expect, test, vi } from "vitest";
import { createRuntime } from "../../../src/index.ts";
import type { ApprovalRequest } from "../../../src/gate/approve/approval.ts";
import type { Grant } from "../../../src/gate/approve/grant-terms.ts";
import { createMemoryJournal } from "../../../src/journal/index.ts";
import { createMemorySandbox } from "../../../src/testing.ts";
import { idle, makeTool, openSession } from "../open-session.ts";

afterEach(() => void vi.useRealTimers());

const pay = (handler: (input: unknown) => unknown = () => "paid", approval: "always" | "never" = "always") =>
  makeTool({ name: "pay", effect: "write", approval, handler });

/** Answers the first question with a grant, and denies every other one. */
function granting(grant: Grant) {
  const asked: ApprovalRequest[] = [];
  const approve = (request: ApprovalRequest) => {
    asked.push(request);
    return asked.length === 1 ? { allow: true, by: "ann", grant } : { allow: false, by: "ann" };
  };
  return { asked, approve };
}

test("further calls that fit a grant are allowed and journalled as such; what exceeds it is asked about again, with what is left", async () => {
  const { asked, approve } = granting({ calls: 20, sums: { "/amount": 1 } });
  const { call, records } = openSession({ tools: [pay()], approve });
  const make = (amount: unknown) => call({ amount }, { tool: "pay" });
  for (const amount of [5, 0.7, 0.2, 0.1]) expect(await make(amount)).toMatchObject({ ok: true, approvedBy: "ann" });
  expect(asked).toHaveLength(1);
  for (const amount of [0.01, -1, "1", undefined])
    expect(await make(amount)).toMatchObject({ code: "approval_denied" });
  expect(asked.map(({ callId, grants }) => [callId, grants])).toEqual([
    ["1", undefined],
    ...["5", "6", "7", "8"].map((id) => [
      id,
      [{ call: "1", by: "ann", bounded: false, calls: 17, sums: { "/amount": 0 } }],
    ]),
  ]);
  expect(records.filter(({ type }) => type === "decision").slice(0, 3)).toMatchObject([
    { call: "1", by: "ann", grant: { calls: 20, sums: { "/amount": 1 } } },
    {
      call: "2",
      by: "ann",
      allow: true,
      granted: { call: "1", sums: { "/amount": 0.7 }, left: { calls: 19, sums: { "/amount": 0.3 } } },
    },
    { call: "3", granted: { left: { calls: 18, sums: { "/amount": 0.1 } } } },
  ]);
});

test("of a thousand calls at once no more pass than a grant allows, and calls that waited pass by it too", async () => {
  const ran: number[] = [];
  const { approve } = granting({ calls: 10, sums: { "/amount": 45 } });
  const { call } = openSession({
    tools: [pay((input) => ran.push((input as { amount: number }).amount))],
    approve: async (request) => {
      await idle();
      return approve(request);
    },
    limits: { calls: 2000 },
  });
  await Promise.all(Array.from({ length: 1000 }, (_, n) => call({ amount: 1 + (n % 9) }, { tool: "pay" })));
  // The first call has its own approval.
  expect(ran.length).toBeLessThanOrEqual(11);
  expect(ran.length).toBeGreaterThan(2);
  expect(ran.slice(1).reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(45);
});

test("a grant is for its tool, inputs that fit its schema, and until its time", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
  const grant = {
    input: { type: "object", properties: { to: { const: "ann" } }, required: ["to"] },
    untilMs: 1_001_000,
  };
  const { approve } = granting(grant);
  const { call } = openSession({ tools: [pay(), makeTool({ name: "send", approval: "always" })], approve });
  expect(await call({ to: "zoe" }, { tool: "pay" })).toMatchObject({ ok: true });
  expect(await call({ to: "ann" }, { tool: "pay" })).toMatchObject({ ok: true });
  expect(await call({ to: "bob" }, { tool: "pay" })).toMatchObject({ code: "approval_denied" });
  expect(await call({ to: "ann" }, { tool: "send" })).toMatchObject({ code: "approval_denied" });
  vi.setSystemTime(1_001_000);
  expect(await call({ to: "ann" }, { tool: "pay" })).toMatchObject({ code: "approval_denied" });
});

test.each<[string, unknown]>([
  ["is nonsense", { allow: true, grant: 20 }],
  ["has a negative sum", { allow: true, grant: { sums: { "/amount": -1 } } }],
  ["has a schema that cannot be bounded", { allow: true, grant: { input: { pattern: "(a+)+\\1" } } }],
  ["comes with a denial", { allow: false, grant: { calls: 2 } }],
])("a call is denied, and nothing runs, where the grant of its approval %s", async (_, answer) => {
  const handler = vi.fn();
  const { call, events } = openSession({ tools: [pay(handler)], approve: () => answer as boolean });
  expect(await call({}, { tool: "pay" })).toMatchObject({ code: "approval_denied" });
  expect(handler).not.toHaveBeenCalled();
  expect(events).toMatchObject([
    { type: "call_ended", error: { message: expect.stringContaining("grant") as string } },
  ]);
});

const LOOP = `
  const seen = [];
  for (let n = 1; n <= 5; n += 1) seen.push(await tools.pay({ amount: 100 }).catch(({ code }) => code));
  return seen;
`;

test("a grant holds over drivers: each goes on with what the one before has left, and asks again when it is used up", async () => {
  const journal = createMemoryJournal();
  const paid: number[] = [];
  const open = () =>
    createRuntime({
      tools: [pay((input) => paid.push((input as { amount: number }).amount))],
      sandbox: createMemorySandbox(),
      journal,
      approve: () => "later",
    });
  {
    await using runtime = await open();
    expect((await runtime.execute(LOOP, { execution: "e" })).outcome.type).toBe("waiting");
    await runtime.decide("e", { 1: { allow: true, by: "ann", grant: { sums: { "/amount": 250 } } } });
    expect((await runtime.resume("e")).outcome).toMatchObject({ type: "waiting", approvals: [{ callId: "4" }] });
  }
  expect(paid).toEqual([100, 100, 100]);
  await using runtime = await open();
  await runtime.decide("e", { 4: { allow: true, by: "bob" } });
  expect((await runtime.resume("e")).outcome).toMatchObject({ type: "waiting", approvals: [{ callId: "5" }] });
  await expect(runtime.decide("e", { 5: { allow: true, grant: { sums: { "/amount": -1 } } } })).rejects.toMatchObject({
    code: "option_invalid",
  });
  await expect(runtime.decide("e", { 5: { allow: false, grant: { calls: 1 } } })).rejects.toMatchObject({
    code: "option_invalid",
  });
  await runtime.decide("e", { 5: { allow: false } });
  expect((await runtime.resume("e")).outcome).toMatchObject({ value: [1, 2, 3, 4, "approval_denied"] });
  expect((await runtime.execution("e").replay()).type).toBe("identical");
});

test("a decision from outside lets calls through that wait by then, and the journal says by whose grant", async () => {
  const journal = createMemoryJournal();
  await using runtime = await createRuntime({
    tools: [pay()],
    sandbox: createMemorySandbox(),
    journal,
    approve: () => "later",
  });
  const program = `return Promise.all([1, 2, 3].map((n) => tools.pay({ n }).catch(({ code }) => code)))`;
  const { outcome } = await runtime.execute(program, { execution: "e" });
  expect(outcome).toMatchObject({ type: "waiting", approvals: [{ callId: "1" }, { callId: "2" }, { callId: "3" }] });
  await runtime.decide("e", { 2: { allow: true, by: "ann", grant: { calls: 1 } } });
  expect((await runtime.resume("e")).outcome).toMatchObject({ type: "waiting", approvals: [{ callId: "3" }] });
  const records = await runtime.execution("e").records();
  expect(records.filter(({ type }) => type === "decision")).toMatchObject([
    { call: "2", by: "ann", grant: { calls: 1 } },
    { call: "1", by: "ann", granted: { call: "2", left: { calls: 0 } } },
  ]);
});
