import { expect, test } from "vitest";
import { agentAsTool } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/runtime/testing.ts";
import { makeTool } from "../../gate/open-session.ts";
import { FIRST, resultsBefore, talk } from "../talk.ts";
import { runtimeWith } from "../../support/runtime.ts";

const describe = { name: "clerk", description: "Looks things up", allowedCallers: ["direct", "programmatic"] as const };
const ASK = { calls: [{ tool: "clerk", input: { task: "x" } }] };
const usage = { inputTokens: 30, outputTokens: 20 };

test("a program calls an agent with tools of its own many times at once", async () => {
  const lookUp = makeTool({ name: "lookUp", allowedCallers: ["direct"], execute: ({ sku }) => ({ sku }) });
  const model = scriptedModel([
    ({ said }) => ({ calls: [{ tool: "lookUp", input: { sku: said[0] } }] }),
    ({ said, results }) => ({ text: `${said[0]}: ${results[0]?.text}` }),
  ]);
  const clerk = agentAsTool({ ...describe, model, tools: [lookUp] });
  await using runtime = await runtimeWith([clerk]);
  const program = 'return await Promise.all(["K-9", "K-10"].map((task) => tools.clerk({ task })))';
  const { outcome } = await runtime.execute(program);
  expect(outcome).toEqual({ type: "completed", value: ['K-9: {"sku":"K-9"}', 'K-10: {"sku":"K-10"}'] });
});

test("an agent that may have changed something is not given its task again by the program that corrects its caller", async () => {
  let paid = 0;
  const pay = makeTool({ name: "pay", effect: "write", allowedCallers: ["direct"], execute: () => (paid += 1) });
  const model = scriptedModel([{ calls: [{ tool: "pay" }] }, { failure: { code: "overloaded", message: "down" } }]);
  const clerk = agentAsTool({ ...describe, model, tools: [pay] });
  await using runtime = await runtimeWith([clerk]);
  const failed = await runtime.execute('return tools.clerk({ task: "pay" })');
  expect(failed.outcome).toMatchObject({ type: "failed", fault: { code: "handler_failed" } });
  const { outcome } = await runtime.execute('return tools.clerk({ task: "pay" })', { corrects: failed.execution });
  expect(outcome).toMatchObject({ type: "waiting", approvals: [{ tool: "clerk", why: "outcome_unknown" }] });
  expect(paid).toBe(1);
});

test("an agent's tokens count against its caller's budget, which also bounds the agent", async () => {
  const model = scriptedModel([
    { calls: [{ tool: "t" }], usage },
    { text: "never", usage },
  ]);
  const clerk = agentAsTool({ ...describe, model, tools: [makeTool({ allowedCallers: ["direct"] })] });
  const talked = await talk(
    [
      { calls: [{ tool: "clerk", input: { task: "x" } }], usage },
      { text: "never", usage },
    ],
    { tools: [clerk], programs: "none", loop: { maxTokens: 100 } },
  );
  expect(talked.transcript.turns[0]?.results).toMatchObject([
    {
      isError: true,
      text: expect.stringMatching(/clerk has no answer\. .*50 tokens \(maxTokens\)/),
    },
  ]);
  expect(talked.ending).toEqual({ type: "tokens_spent", allowed: 100, seen: 100 });
  expect(model.conversations[0]).toHaveLength(1);
});

test("an agent's tokens and calls are in its caller's report, and its turns are not", async () => {
  const tool = makeTool({ allowedCallers: ["direct"] });
  const model = scriptedModel([
    { calls: [{ tool: "t" }], usage },
    { text: "x", usage },
  ]);
  const clerk = agentAsTool({ ...describe, model, tools: [tool] });
  const script = [
    { programs: ['return await tools.clerk({ task: "x" })'], usage },
    { text: "x", usage },
  ];
  const talked = await talk(script, { tools: [clerk] });
  expect(talked.usage).toEqual({ turns: 2, calls: 2, inputTokens: 120, outputTokens: 80, cachedInputTokens: 0 });
  expect(talked.calls.map(({ callId, tool }) => [callId, tool])).toEqual([
    ["call-1/1/call-1", "t"],
    ["call-1/1", "clerk"],
  ]);
});

test("once its caller's tokens are spent an agent starts no turn, however often programs call it", async () => {
  const model = scriptedModel([{ text: "x", usage }]);
  const clerk = agentAsTool({ ...describe, model, tools: [] });
  const program = `
    const answers = [];
    for (let n = 0; n < 5; n += 1) answers.push(await tools.clerk({ task: "x" }).catch(({ message }) => message));
    return answers`;
  const talked = await talk([{ programs: [program], usage }, { text: "never" }], {
    tools: [clerk],
    loop: { maxTokens: 120 },
  });
  const spent =
    "clerk has no answer. The model may use 0 tokens (maxTokens) and has used 0. Allow more, or ask for less.";
  expect(JSON.parse(talked.transcript.turns[0]?.results[0]?.text ?? "")).toEqual(["x", "x", spent, spent, spent]);
  expect(model.conversations.map((moments) => moments.length)).toEqual([1, 1, 0, 0, 0]);
  expect(talked.model.conversations[0]).toHaveLength(1);
  expect(talked.ending).toEqual({ type: "tokens_spent", allowed: 120, seen: 150 });
});

test("an agent's calls count against its caller's limit", async () => {
  const tool = makeTool({ allowedCallers: ["direct"] });
  const model = scriptedModel([
    { calls: [{ tool: "t" }, { tool: "t" }] },
    ({ results }) => ({ text: results.map(({ isError }) => isError).join() }),
  ]);
  const clerk = agentAsTool({ ...describe, model, tools: [tool] });
  const talked = await talk([ASK, { text: "Done." }], {
    tools: [clerk],
    programs: "none",
    limits: { calls: 2 },
  });
  expect(resultsBefore(talked, 1)).toMatchObject([{ text: '"false,true"' }]);
});

test("an agent's effect is write if one of its tools changes something, and four agents run at once", () => {
  const make = (...effects: readonly ("read" | "idempotent")[]) => {
    const tools = effects.map((effect, n) => makeTool({ name: `t${n}`, effect }));
    return agentAsTool({ ...describe, model: scriptedModel([]), tools });
  };
  expect([make(), make("read"), make("read", "idempotent")].map(({ effect }) => effect)).toEqual([
    "read",
    "read",
    "write",
  ]);
  expect([make().concurrency, make().timeoutMs]).toEqual([4, 600_000]);
  const told = agentAsTool({ ...describe, model: scriptedModel([]), tools: [], concurrency: 7, timeoutMs: 5 });
  expect([told.concurrency, told.timeoutMs]).toEqual([7, 5]);
});

test("an agent's turns have their own limit, and its programs run in the caller's sandbox", async () => {
  const model = scriptedModel([{ programs: ["return await tools.t({})"] }, { calls: [{ tool: "t" }] }]);
  const clerk = agentAsTool({ ...describe, model, tools: [makeTool()], loop: { maxTurns: 2 } });
  const talked = await talk([ASK, { text: "No." }], {
    tools: [clerk],
  });
  expect(model.conversations[0]?.[1]?.results).toMatchObject([{ text: '"ok"', isError: false }]);
  expect(resultsBefore(talked, 1)).toMatchObject([{ text: expect.stringContaining("The model had 2 turns") }]);
});

test("the words of an agent's provider about a failure stay on the host", async () => {
  const failure = { code: "key_refused", message: "The key sk-123 is wrong." } as const;
  const clerk = agentAsTool({ ...describe, model: scriptedModel([{ failure }]), tools: [] });
  const talked = await talk([ASK, { text: "No." }], {
    tools: [clerk],
  });
  expect(resultsBefore(talked, 1)).toMatchObject([
    { isError: true, text: expect.stringMatching(/^ {2}clerk has no answer\. /) as string },
  ]);
});

test("an agent's calls are decided by its caller's approve, and not by the runtime's", async () => {
  const paid = makeTool({ name: "paid", allowedCallers: ["direct"], approval: "always" });
  const model = scriptedModel([{ calls: [{ tool: "paid" }] }, FIRST]);
  const clerk = agentAsTool({ ...describe, model, tools: [paid] });
  await using runtime = await runtimeWith([clerk], { approve: () => true });
  const asking = scriptedModel([ASK, FIRST]);
  const { answer } = await runtime.agent({ model: asking, task: "Pay.", approve: () => false });
  expect(answer).toContain("approval was denied");
});

test("cancelling its caller cancels an agent", async () => {
  const controller = new AbortController();
  const model = scriptedModel([
    () => {
      controller.abort();
      return { calls: [{ tool: "t" }] };
    },
  ]);
  let ran = 0;
  const tool = makeTool({ allowedCallers: ["direct"], execute: () => (ran += 1) });
  const clerk = agentAsTool({ ...describe, model, tools: [tool] });
  const { ending } = await talk([ASK], {
    tools: [clerk],
    signal: controller.signal,
  });
  expect([ending, ran]).toEqual([{ type: "cancelled" }, 0]);
});

test.each<[object, string]>([
  [
    { model: {} },
    'agentAsTool({ model }): expected a model, like anthropic({ model: … }), or its name: anthropic:NAME, openai:NAME, openai-chat:NAME, gemini:NAME, or "inherit", got {}.',
  ],
  [{ tool: [] }, 'agentAsTool: there is no option "tool", did you mean tools?'],
  [
    { programs: "hosted", model: scriptedModel([], { hostsPrograms: false }) },
    'agentAsTool({ programs }): expected "local" or "none", because scripted:script does not host programs',
  ],
  [{ programs: "local", tools: [makeTool({ name: "run_program" })] }, 'A tool is called "run_program"'],
])("a wrong option is told: %j", (changes, message) => {
  expect(() => agentAsTool({ ...describe, model: scriptedModel([]), tools: [], ...changes })).toThrow(message);
});
