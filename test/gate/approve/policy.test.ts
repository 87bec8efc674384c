import { expect, test, vi } from "vitest";
import type { Policy, PolicyName, PolicyRequest } from "../../../src/gate/approve/policy.ts";
import { manualClock } from "../../support/clock.ts";
import { holdCalls, idle, makeTool, openSession } from "../open-session.ts";
import { throws } from "../../support/failing.ts";

const never = throws("the host's secret");

test("a policy is told who calls what with which input for whom, and cannot change the input of the handler", async () => {
  const asked: PolicyRequest[] = [];
  const policy: Policy = (request) => {
    asked.push(request);
    (request.input as { amount: number }).amount = 0;
    return "allow";
  };
  const handler = vi.fn(() => "paid");
  const tools = [makeTool({ execute: handler, effect: "write" })];
  const { call } = openSession({ tools, policies: [policy], context: { user: "ann" } });
  expect(await call({ amount: 5 })).toMatchObject({ ok: true });
  expect(handler).toHaveBeenCalledWith({ amount: 5 }, expect.anything());
  const { signal, ...rest } = asked[0]!;
  expect(signal.aborted).toBe(true);
  expect(rest).toEqual({
    execution: "execution",
    callId: "1",
    tool: "t",
    caller: "programmatic",
    source: undefined,
    effect: "write",
    input: { amount: 0 },
    context: { user: "ann" },
    tenant: "acme",
  });
});

test.each<[PolicyName, readonly boolean[]]>([
  ["ask-writes", [false, false, true]],
  ["ask-changes", [false, true, true]],
  ["ask-all", [true, true, true]],
])("%s asks by what a call changes, also if that depends on its input", async (policy, asks) => {
  const effects = ["read", "idempotent", "write"] as const;
  const tools = [
    ...effects.map((effect) => makeTool({ name: effect, effect })),
    makeTool({ effect: ({ a }: { a: string }) => a } as never),
  ];
  const asked: string[] = [];
  const { call } = openSession({
    tools,
    policies: [policy],
    approve: ({ callId }) => {
      asked.push(callId);
      return true;
    },
  });
  for (const effect of effects) await call({}, { tool: effect, callId: `${effect} by tool` });
  for (const effect of effects) await call({ a: effect }, { callId: `${effect} by input` });
  const expected = effects.filter((_, index) => asks[index]);
  expect(asked).toEqual([...expected.map((one) => `${one} by tool`), ...expected.map((one) => `${one} by input`)]);
});

test.each<[string, () => unknown, string]>([
  ["throws", never, "the host's secret"],
  ["rejects", () => Promise.reject(new Error("no line")), "no line"],
  ["says nothing", () => undefined, "`policy` gave no answer about t, so the call was refused: expected"],
  ["says true", () => true, "got true."],
  ["names another answer", () => "alow", 'got "alow".'],
  ["denies without a reason", () => ({ deny: true }), 'got {"deny":true}.'],
  ["allows by an object", () => ({ allow: true }), 'got {"allow":true}.'],
  ["denies by a prototype", () => Object.create({ deny: "x" }) as unknown, "`policy` gave no answer"],
  ["cannot be read", () => new Proxy({}, { getOwnPropertyDescriptor: never }), "secret"],
])("a call is refused where the policy %s, and the operator is told why", async (_, policy, message) => {
  const held = holdCalls();
  const { call, events, records, session } = openSession({
    tools: [makeTool({ execute: held.handler, approval: "always" })],
    approve: () => true,
    policies: [policy as Policy],
  });
  const answer = await call();
  expect(answer).toMatchObject({ ok: false, code: "policy_unavailable" });
  expect(JSON.stringify([answer, records])).not.toContain("secret");
  expect(events).toMatchObject([
    { type: "call_ended", error: { message: expect.stringContaining(message) as string } },
  ]);
  expect(held.counts.started).toBe(0);
  expect(session.usage.open).toBe(0);
});

test("a policy that takes too long is told so by its signal, the call is refused, and a late answer changes nothing", async () => {
  const clock = manualClock();
  const late = Promise.withResolvers<"allow">();
  const signals: AbortSignal[] = [];
  const { call, events } = openSession({
    policies: [
      ({ signal }) => {
        signals.push(signal);
        return late.promise;
      },
    ],
  });
  const answered = call();
  await idle();
  expect(signals[0]?.aborted).toBe(false);
  await clock.advance(5000);
  expect(await answered).toMatchObject({ code: "policy_unavailable" });
  expect(signals[0]?.aborted).toBe(true);
  late.resolve("allow");
  await idle();
  expect(events.map(({ type }) => type)).toEqual(["call_ended"]);
  expect(events).toMatchObject([{ error: { message: expect.stringContaining("within 5000 ms") as string } }]);
});

test("the end of its session aborts a policy, and nothing follows from its answer", async () => {
  const answers = Promise.withResolvers<"allow">();
  const signals: AbortSignal[] = [];
  const held = holdCalls();
  const { call, session } = openSession({
    tools: [makeTool({ execute: held.handler })],
    policies: [
      ({ signal }) => {
        signals.push(signal);
        return answers.promise;
      },
    ],
  });
  const answered = call();
  await idle();
  session.close();
  expect(await answered).toBeUndefined();
  expect(signals[0]?.aborted).toBe(true);
  answers.resolve("allow");
  await idle();
  expect(held.counts.started).toBe(0);
});

test("a remembered approval does not hold against a policy that denies", async () => {
  let denies = false;
  const { call } = openSession({
    policies: [() => (denies ? { deny: "enough" } : "ask")],
    approve: () => ({ allow: true, remember: "execution" }),
  });
  expect(await call()).toMatchObject({ ok: true });
  denies = true;
  expect(await call()).toMatchObject({ code: "policy_denied" });
});

test("a policy is not asked about a call that does not fit its tool or its caller, nor about the runtime's own tools", async () => {
  const policy = vi.fn(() => ({ deny: "no" }));
  const { call } = openSession({ policies: [policy], callers: ["direct", "programmatic"] });
  expect(await call({}, { caller: "direct" })).toMatchObject({ code: "caller_not_allowed" });
  expect(await call([])).toMatchObject({ code: "input_invalid" });
  expect(await call({ query: "t" }, { tool: "search_tools" })).toMatchObject({ ok: true });
  expect(policy).not.toHaveBeenCalled();
});
