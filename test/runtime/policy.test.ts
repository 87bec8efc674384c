import { expect, test, vi } from "vitest";
import { createRuntime } from "../../src/index.ts";
import type { Policy } from "../../src/gate/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import { createMemorySandbox, scriptedModel } from "../../src/runtime/testing.ts";
import { makeTool } from "../gate/open-session.ts";
import { agentOf, failing, runtimeWith } from "../support/index.ts";

const BOTH = ["direct", "programmatic"] as const;
const write = (name: string, handler: () => unknown = () => "done") =>
  makeTool({ name, allowedCallers: BOTH, effect: "write", execute: handler });
const sandbox = createMemorySandbox();
const CATCHES = `try { return await tools.pay({ n: 1 }); } catch (error) { return error.code + ": " + error.message; }`;

test("one policy is asked about a call of a program, a model, a model's program, an agent below and the host", async () => {
  const asked: string[] = [];
  const policy: Policy = ({ tool, caller, tenant, context }) => {
    asked.push(`${tool} ${caller} ${tenant} ${JSON.stringify(context)}`);
    return { deny: "Nothing is paid today." };
  };
  const pay = write("pay");
  const inner = scriptedModel([{ calls: [{ tool: "pay", input: {} }] }, { text: "done" }]);
  const clerk = agentOf("clerk", inner, { allowedCallers: ["direct"], tools: [pay] });
  const allowsClerk: Policy = (request) => (request.tool === "clerk" ? "allow" : policy(request));
  await using runtime = await runtimeWith([pay, clerk], { policy: allowsClerk, tenant: "acme" });
  const context = { user: "ann" };
  expect((await runtime.execute(CATCHES, { context })).outcome).toMatchObject({
    value: expect.stringMatching(/^policy_denied: .*pay/) as string,
  });
  expect(await runtime.call({ tool: "pay", input: {}, caller: "direct", context })).toMatchObject({
    ok: false,
    code: "policy_denied",
  });
  const model = scriptedModel([
    { calls: [{ tool: "pay", input: {} }] },
    { programs: [CATCHES] },
    { calls: [{ tool: "clerk", input: { task: "pay" } }] },
    { text: "end" },
  ]);
  const { calls } = await runtime.agent({ model, task: "pay", context });
  expect(asked).toEqual([
    'pay programmatic acme {"user":"ann"}',
    'pay direct acme {"user":"ann"}',
    'pay direct acme {"user":"ann"}',
    'pay programmatic acme {"user":"ann"}',
    'pay direct acme {"user":"ann"}',
  ]);
  const refused = calls.filter(({ tool }) => tool === "pay").map(({ outcome }) => outcome);
  expect(refused).toEqual(Array.from({ length: 3 }, () => ({ type: "refused", code: "policy_denied" })));
});

test("a preset holds writes for the approver, who reads which policy asked; a derived runtime keeps the policy", async () => {
  const asked: unknown[] = [];
  await using runtime = await runtimeWith([write("pay"), makeTool({ name: "look" })], {
    policy: "ask-writes",
    approve: ({ tool, policy }) => {
      asked.push([tool, policy]);
      return true;
    },
  });
  const program = "return [await tools.look({}), await tools.pay({})]";
  for (const one of [runtime, runtime.derive({ limits: { calls: 5 } })])
    expect((await one.execute(program)).outcome).toMatchObject({ value: ["ok", "done"] });
  expect(asked).toEqual([
    ["pay", "The policy is ask-writes."],
    ["pay", "The policy is ask-writes."],
  ]);
});

test("an execution that waits is taken up under the decision that its journal holds, and a replay asks no policy", async () => {
  const journal = createMemoryJournal();
  const policy = vi.fn<Policy>(({ tool }) => (tool === "pay" ? "ask" : { deny: "no look" }));
  const paid = vi.fn(() => "paid");
  const open = { tools: [write("pay", paid), makeTool({ name: "look" })], sandbox, journal };
  const program = `const look = await tools.look({}).catch(({ code }) => code); return [look, await tools.pay({})];`;
  {
    await using runtime = await createRuntime({ ...open, policy, approve: () => "later" });
    expect((await runtime.execute(program, { id: "e" })).outcome.type).toBe("waiting");
    await runtime.execution("e").decide({ 2: { allow: true, by: "ann" } });
  }
  expect(policy).toHaveBeenCalledTimes(2);
  const strict = vi.fn<Policy>(() => ({ deny: "closed since" }));
  await using runtime = await createRuntime({ ...open, policy: strict });
  expect((await runtime.execution("e").resume()).outcome).toMatchObject({ value: ["policy_denied", "paid"] });
  expect(await runtime.execution("e").replay()).toMatchObject({ type: "identical" });
  expect(strict).not.toHaveBeenCalled();
  expect(paid).toHaveBeenCalledTimes(1);
  const records = await runtime.execution("e").records();
  expect(records.filter(({ type }) => type === "call")).toMatchObject([
    { call: "1", decision: "refused", code: "policy_denied", policy: "no look" },
    { call: "2", decision: "held", policy: "The policy asks." },
    { call: "2", decision: "allowed" },
  ]);
});

test("a policy by name holds for an execution also in a process that has none, for all kinds of its calls", async () => {
  const journal = createMemoryJournal();
  const paid = vi.fn(() => "paid");
  const open = { tools: [write("pay", paid)], sandbox, journal, approve: () => "later" as const };
  const pays = { calls: [{ tool: "pay", input: {} }] };
  const model = scriptedModel([pays, { programs: ["return tools.pay({})"] }, { text: "end" }], {
    hostsPrograms: false,
  });
  {
    await using runtime = await createRuntime({ ...open, policy: "ask-writes" });
    await runtime.execute("await tools.pay({}); return tools.pay({})", { id: "program" });
    await runtime.agent({ model, task: "pay", id: "talk" });
  }
  await using runtime = await createRuntime(open);
  const allow = { allow: true, by: "ann" };
  expect((await runtime.execution("program").resume({ decisions: { 1: allow } })).outcome.type).toBe("waiting");
  const { ending } = await runtime.execution("talk").resume({ model, decisions: { "call-1": allow } });
  expect(ending).toMatchObject({ type: "waiting", approvals: [{ callId: "call-2/1" }] });
  expect(paid).toHaveBeenCalledTimes(2);
});

test("an execution that began with a policy of its own asks about every call in a process that has none", async () => {
  const journal = createMemoryJournal();
  const tools = [write("pay"), write("send")];
  const policy: Policy = ({ tool }) => (tool === "send" ? { deny: "never" } : "ask");
  const approve = () => "later" as const;
  await using own = await runtimeWith(tools, { journal, approve });
  await using other = await runtimeWith(tools, { journal, approve });
  const program = "return [await tools.pay({}), await tools.send({}).catch(({ code }) => code)];";
  const allowed = { decisions: { 1: { allow: true } } } as const;
  const { execution } = await own.execute(program, { policy });
  const goesOn = await other.execution(execution).resume(allowed);
  expect(goesOn.outcome).toMatchObject({ type: "waiting", approvals: [{ callId: "2", tool: "send" }] });
  const again = await own.execute(program, { policy });
  expect((await own.execution(again.execution).resume({ ...allowed, policy })).outcome).toMatchObject({
    value: ["done", "policy_denied"],
  });
});

test("a policy that does not exist is refused before anything runs", async () => {
  for (const policy of ["ask-wirtes", "", true, {}, ["ask-all"]])
    await expect(runtimeWith([], { policy: policy as never })).rejects.toMatchObject(
      failing(
        "option_invalid",
        'createRuntime({ policy }): expected a function, or "ask-writes", "ask-changes", "ask-all"',
      ),
    );
});
