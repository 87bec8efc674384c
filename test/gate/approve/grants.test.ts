import { expect, test, vi } from "vitest";
import type { ApprovalRequest } from "../../../src/gate/approve/approval.ts";
import type { Grant } from "../../../src/gate/approve/grant-terms.ts";
import { createMemoryJournal } from "../../../src/journal/index.ts";
import { scriptedModel } from "../../../src/runtime/testing.ts";
import { manualClock } from "../../support/clock.ts";
import { inATurn } from "../../support/in-a-turn.ts";
import { idle, makeTool, openSession } from "../open-session.ts";
import { codeOf, failing, runtimeWith } from "../../support/index.ts";

const pay = (handler: (input: unknown) => unknown = () => "paid", approval: "always" | "never" = "always") =>
  makeTool({ name: "pay", effect: "write", approval, execute: handler });

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
    ...["5", "6", "7", "8"].map((id) => [id, [{ call: "1", by: "ann", calls: 17, sums: { "/amount": 0 } }]]),
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

test("a grant is for its tool, and until its time", async () => {
  const clock = manualClock(1_000_000);
  const { approve } = granting({ untilMs: 1_001_000 });
  const { call } = openSession({ tools: [pay(), makeTool({ name: "send", approval: "always" })], approve });
  expect(await call({ to: "zoe" }, { tool: "pay" })).toMatchObject({ ok: true });
  expect(await call({ to: "ann" }, { tool: "pay" })).toMatchObject({ ok: true });
  expect(await call({ to: "ann" }, { tool: "send" })).toMatchObject({ code: "approval_denied" });
  clock.pass(1000);
  expect(await call({ to: "ann" }, { tool: "pay" })).toMatchObject({ code: "approval_denied" });
});

const CALL = { amount: 20, to: "ann", lines: [{ "a/b": 1 }], note: null };

test("sums may be of any number of the call, and of a text that may stand for a redacted number", async () => {
  const grant = { sums: { "/amount": 500, "/lines/0/a~1b": 3, "/to": 1 } };
  const { call, records } = openSession({ tools: [pay()], approve: granting(grant).approve });
  expect(await call(CALL, { tool: "pay" })).toMatchObject({ ok: true });
  expect(records).toContainEqual(expect.objectContaining({ type: "decision", grant }));
});

test.each<[string, unknown, string]>([
  ["a number", 20, "grant: expected an object like"],
  ["an empty one", {}, "at least one of calls, sums and untilMs"],
  ["no calls", { calls: 0 }, "grant.calls"],
  ["half a call", { calls: 1.5 }, "grant.calls"],
  ["calls without end", { calls: Number.POSITIVE_INFINITY }, "grant.calls"],
  ["a negative sum", { sums: { "/amount": -1 } }, "grant.sums"],
  ["a sum that is no number", { sums: { "/amount": "500" } }, "grant.sums"],
  ["a sum that is not finite", { sums: { "/amount": Number.NaN } }, "grant.sums"],
  ["sums of nothing", { sums: {} }, "grant.sums"],
  ["a sum of no pointer", { sums: { amount: 500 } }, "grant.sums"],
  ["a sum of a broken pointer", { sums: { "/a~2": 500 } }, "grant.sums"],
  ["a sum of a field that the call does not have", { sums: { "/amuont": 500 } }, 'got "/amuont"'],
  ["a sum of no field of a list", { sums: { "/lines/1/a~1b": 500 } }, "pointers to numbers in the input of the call"],
  ["a sum of what is no number", { calls: 5, sums: { "/amount": 500, "/note": 1 } }, 'got "/note"'],
  ["a list of sums", { sums: [500] }, "grant.sums"],
  ["too many sums", { sums: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`/${n}`, 1])) }, "grant.sums"],
  ["a time that is over", { untilMs: 1 }, "grant.untilMs"],
  ["a time that is none", { untilMs: "18:00" }, "grant.untilMs"],
  ["a misspelt field", { call: 20 }, "did you mean calls?"],
  ["a schema of inputs", { calls: 2, input: { type: "object" } }, "grant"],
  ["one that comes with a denial", { allow: false, calls: 2 }, "grant"],
])("a call is denied, and nothing runs, where the grant of its approval is %s", async (what, grant, message) => {
  const handler = vi.fn();
  const answer = what.includes("denial") ? { allow: false, grant: { calls: 2 } } : { allow: true, grant };
  const { call, events } = openSession({ tools: [pay(handler)], approve: () => answer as never });
  expect(await call(CALL, { tool: "pay" })).toMatchObject({ code: "approval_denied" });
  expect(handler).not.toHaveBeenCalled();
  expect(events).toMatchObject([{ type: "call_ended", error: failing("option_invalid", message) }]);
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
    runtimeWith([pay((input) => paid.push((input as { amount: number }).amount))], { journal, approve: () => "later" });
  {
    await using runtime = await open();
    expect((await runtime.execute(LOOP, { id: "e" })).outcome.type).toBe("waiting");
    await runtime.execution("e").decide({ 1: { allow: true, by: "ann", grant: { sums: { "/amount": 250 } } } });
    expect((await runtime.execution("e").resume()).outcome).toMatchObject({
      type: "waiting",
      approvals: [{ callId: "4" }],
    });
  }
  expect(paid).toEqual([100, 100, 100]);
  await using runtime = await open();
  await runtime.execution("e").decide({ 4: { allow: true, by: "bob" } });
  expect((await runtime.execution("e").resume()).outcome).toMatchObject({
    type: "waiting",
    approvals: [{ callId: "5" }],
  });
  expect(await codeOf(runtime.execution("e").decide({ 5: { allow: true, grant: { sums: { "/amount": -1 } } } }))).toBe(
    "option_invalid",
  );
  expect(await codeOf(runtime.execution("e").decide({ 5: { allow: false, grant: { calls: 1 } } }))).toBe(
    "option_invalid",
  );
  await runtime.execution("e").decide({ 5: { allow: false } });
  expect((await runtime.execution("e").resume()).outcome).toMatchObject({ value: [1, 2, 3, 4, "approval_denied"] });
  expect((await runtime.execution("e").replay()).type).toBe("identical");
});

test("a decision from outside lets calls through that wait by then, and the journal says by whose grant", async () => {
  const journal = createMemoryJournal();
  await using runtime = await runtimeWith([pay()], { journal, approve: () => "later" });
  const program = `return Promise.all([1, 2, 3].map((n) => tools.pay({ n }).catch(({ code }) => code)))`;
  const { outcome } = await runtime.execute(program, { id: "e" });
  expect(outcome).toMatchObject({ type: "waiting", approvals: [{ callId: "1" }, { callId: "2" }, { callId: "3" }] });
  await runtime.execution("e").decide({ 2: { allow: true, by: "ann", grant: { calls: 1 } } });
  expect((await runtime.execution("e").resume()).outcome).toMatchObject({
    type: "waiting",
    approvals: [{ callId: "3" }],
  });
  const records = await runtime.execution("e").records();
  expect(records.filter(({ type }) => type === "decision")).toMatchObject([
    { call: "2", by: "ann", grant: { calls: 1 } },
    { call: "1", by: "ann", granted: { call: "2", left: { calls: 0 } } },
  ]);
});

/** Allows its own call and no other. */
const USELESS = { sums: { "/amount": 0 } };
const paying = (calls: number) =>
  `const make = () => tools.pay({ amount: 1 }).catch(({ code }) => code);
  return Promise.all(Array.from({ length: ${calls} }, make));`;
const deciding = (ids: readonly number[], grant?: Grant) =>
  Object.fromEntries(ids.map((id) => [`${id}`, { allow: true, by: "ann", ...(grant && { grant }) }]));
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
const TOO_MANY = failing("option_invalid", /\.grant: the execution has 10 grants, .*Decide this call without a grant/);

test("an execution has at most ten grants: one more is refused with what to do, nothing is noted, and it goes on without", async () => {
  await using runtime = await runtimeWith([pay()], { approve: () => "later" });
  const { execution } = await runtime.execute(paying(12));
  await expect(runtime.execution(execution).decide(deciding(range(1, 11), USELESS))).rejects.toMatchObject(TOO_MANY);
  expect((await runtime.execution(execution).records()).filter(({ type }) => type === "decision")).toEqual([]);
  await runtime.execution(execution).decide(deciding(range(1, 4), USELESS));
  await runtime.execution(execution).resume({ decisions: deciding(range(5, 10), USELESS) });
  await expect(runtime.execution(execution).decide(deciding([11], USELESS))).rejects.toMatchObject(TOO_MANY);
  const resumed = runtime.execution(execution).resume({ decisions: deciding([11], USELESS) });
  await expect(resumed).rejects.toMatchObject(TOO_MANY);
  const { outcome } = await runtime.execution(execution).resume({ decisions: deciding([11, 12]) });
  expect(outcome).toMatchObject({ type: "completed", value: range(1, 12).map(() => "paid") });
});

test("so has a conversation of its own calls, and each of its programs", async () => {
  const tool = makeTool({
    name: "pay",
    effect: "write",
    approval: "always",
    allowedCallers: ["direct", "programmatic"],
  });
  await using runtime = await runtimeWith([tool], { approve: () => "later" });
  const calls = range(1, 11).map((n) => ({ id: `pay-${n}`, tool: "pay", input: { amount: 1 } }));
  const model = scriptedModel([{ calls, programs: [paying(11)] }, { text: "done" }]);
  const { execution, ending } = await runtime.agent({ model, task: "Pay." });
  const ids = ending.type === "waiting" ? ending.approvals.map(({ callId }) => callId) : [];
  const ofProgram = ids.filter((id) => id.includes("/"));
  const own = ids.filter((id) => !id.includes("/"));
  expect([own.length, ofProgram.length]).toEqual([11, 11]);
  const decisions = (all: readonly string[]) =>
    Object.fromEntries(all.map((id) => [id, { allow: true, grant: USELESS }]));
  await expect(runtime.execution(execution).decide(decisions(own))).rejects.toMatchObject(TOO_MANY);
  await expect(runtime.execution(execution).decide(decisions(ofProgram))).rejects.toMatchObject(TOO_MANY);
  await runtime.execution(execution).decide(decisions([...own.slice(0, 10), ...ofProgram.slice(0, 10)]));
  await expect(runtime.execution(execution).decide(decisions(own.slice(10)))).rejects.toMatchObject(TOO_MANY);
  await expect(runtime.execution(execution).decide(decisions(ofProgram.slice(10)))).rejects.toMatchObject(TOO_MANY);
});

test("an approver that gives one grant more, also of calls at once, denies that call, and was told how many are left", async () => {
  const errors: string[] = [];
  const left: number[] = [];
  await using runtime = await runtimeWith([pay()], {
    logger: { error: ({ err }) => void errors.push(String(err)) },
    approve: async ({ grantsLeft }) => {
      left.push(grantsLeft);
      await idle();
      return { allow: true, grant: USELESS };
    },
  });
  const { outcome } = await runtime.execute(paying(14), { limits: { concurrentCalls: 4 } });
  const answers = (outcome as { readonly value: readonly string[] }).value;
  expect(answers.toSorted()).toEqual([...range(1, 4).map(() => "approval_denied"), ...range(1, 10).map(() => "paid")]);
  expect(errors).toHaveLength(4);
  for (const error of errors) expect(error).toMatch(/has 10 grants, which is the most/);
  expect([left[0], left.at(-1)]).toEqual([10, 0]);
});

test.each(["outside", "the approver"])(
  "a grant that comes from %s while an execution is driven lets a thousand calls through that wait, few in a turn of the thread",
  async (giver) => {
    const [asked, held] = [new Set<string>(), Promise.withResolvers<void>()];
    const { most, done } = inATurn();
    const { parse } = JSON;
    const spy = vi.spyOn(JSON, "parse").mockImplementation((text: string) => {
      if (asked.size === 1000 && /^{"amount":1,"text":"x+"}$/.test(text)) done("tried");
      return parse(text) as unknown;
    });
    const grant = { calls: 5000, sums: { "/amount": 5000 } };
    await using runtime = await runtimeWith(
      [pay(), makeTool({ name: "hold", execute: () => held.promise.then(() => null) })],
      {
        approve: ({ callId }) => {
          asked.add(callId);
          return giver === "outside" || asked.size < 1000 ? "later" : { allow: true, grant };
        },
      },
    );
    const program = `const held = tools.hold({});
    const make = () => tools.pay({ amount: 1, text: "x".repeat(500) });
    return [(await Promise.all(Array.from({ length: 1000 }, make))).length, await held];`;
    const running = runtime.execute(program, { id: "e", limits: { calls: 5000, concurrentCalls: 3 } });
    await expect.poll(() => asked.size, { timeout: 60_000 }).toBe(1000);
    if (giver === "outside") await runtime.execution("e").decide(deciding([7], grant));
    held.resolve();
    expect((await running).outcome).toEqual({ type: "completed", value: [1000, null] });
    spy.mockRestore();
    expect(most.tried).toBeLessThan(20);
  },
  120_000,
);

test("a decision that is remembered and grants too is one grant, however often the user of a conversation speaks", async () => {
  const ran: unknown[] = [];
  let asked = 0;
  const approve = () => {
    asked += 1;
    return asked === 1 ? { allow: true, remember: "execution" as const, grant: { calls: 2 } } : { allow: false };
  };
  const tools = [{ ...pay((input) => ran.push(input)), allowedCallers: ["direct" as const] }];
  const amounts = [1, 2, 3, 4, 5];
  const model = scriptedModel(
    amounts.flatMap((amount) => [{ calls: [{ tool: "pay", input: { amount } }] }, { text: "done" }]),
  );
  await using runtime = await runtimeWith(tools, { approve });
  await using talk = await runtime.conversation({ model });
  for (const amount of amounts) await talk.send(`Pay ${amount}.`);
  expect(ran).toEqual([{ amount: 1 }, { amount: 2 }, { amount: 3 }]);
  expect(asked).toBe(3);
});
