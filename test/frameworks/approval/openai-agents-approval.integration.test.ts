import { Agent, defineToolInputGuardrail, Runner, RunState, tool } from "@openai/agents";
import { expect, test } from "vitest";
import { z } from "zod";
import type { AsToolOptions, Runtime } from "../../../src/index.ts";
import { agentsModel } from "../models/openai-agents.ts";
import { AT_ONCE, decisionsOf, expectSame, journalOf, openRefunds, THREE } from "./rules.ts";

type Tools = readonly object[] | Promise<readonly object[]>;

/** Runs an agent to its answer. After each interruption the state is read from its JSON, with tools that are made anew. */
async function run(toolsOf: () => Tools, name: string, input: unknown, isApproved: () => boolean = () => true) {
  const model = agentsModel(input, name);
  const runner = new Runner({ tracingDisabled: true });
  const agentOf = async () => new Agent({ name: "clerk", model, tools: [...(await toolsOf())] as never[] });
  const asked: string[] = [];
  let agent = await agentOf();
  let result: {
    readonly interruptions: unknown[];
    readonly state: { toString(): string };
    readonly finalOutput?: unknown;
  } = await runner.run(agent, "refund");
  while (result.interruptions.length > 0) {
    agent = await agentOf();
    const state = await RunState.fromString(agent, result.state.toString());
    for (const item of state.getInterruptions()) {
      asked.push(item.name ?? "");
      if (isApproved()) state.approve(item);
      else state.reject(item);
    }
    result = await runner.run(agent, state);
  }
  return {
    requests: model.requests.length,
    results: model.results,
    asked,
    state: result.state,
    text: String(result.finalOutput),
  };
}

const toolsOf = (runtime: Runtime, options: AsToolOptions) => async () =>
  Object.values(await runtime.asTool("openai-agents", { conversation: "chat 1", ...options }));

test("three calls of a program that need a person one after the other cost two requests to the model more", async () => {
  const plain = await openRefunds();
  const without = await run(toolsOf(plain.runtime, { needsApproval: false }), "run_program", { code: THREE });
  const { runtime, paid } = await openRefunds();
  const { requests, text, asked } = await run(toolsOf(runtime, { needsApproval: { refund: true } }), "run_program", {
    code: THREE,
  });
  expect([without.requests, requests]).toEqual([2, 4]);
  expect(JSON.parse(text)).toEqual(["paid 1", "paid 2", "paid 3"]);
  expect(paid).toEqual([1, 2, 3]);
  expect(asked).toEqual(["run_program", "continue_program", "continue_program"]);
  expect(await decisionsOf(runtime)).toEqual([1, 2, 3].map((n) => [String(n), true, "an approval of OpenAI Agents"]));
});

test("three calls at once are one interruption, whose question says each, and another process goes on with them", async () => {
  const journal = journalOf();
  const all = [await openRefunds({ journal }), await openRefunds({ journal })];
  let opened = 0;
  const options = { needsApproval: true, conversation: "chat 2" };
  const tools = async () => Object.values(await all[opened++]!.runtime.asTool("openai-agents", options));
  const { requests, text } = await run(tools, "run_program", { code: AT_ONCE });
  expect(requests).toBe(2);
  expect(JSON.parse(text)).toEqual(["paid 1", "paid 2", "paid 3"]);
  expect(all.map(({ paid }) => paid)).toEqual([[], [1, 2, 3]]);
  const { runtime } = await openRefunds();
  const { run_program } = await runtime.asTool("openai-agents", { needsApproval: true, conversation: "chat 3" });
  expect(await run_program.question?.({}, { code: AT_ONCE }, "1")).toBe(
    'A program asks to make 3 calls:\n1. refund, with this input:\n  {"n":1}\n2. refund, with this input:\n  {"n":2}\n3. refund, with this input:\n  {"n":3}',
  );
});

const guard = (name: string, behavior: object) =>
  defineToolInputGuardrail({
    name,
    run: async ({ toolCall }) => ({
      outputInfo: {},
      behavior: (JSON.parse(toolCall.arguments) as { n: number }).n > 5 ? (behavior as never) : { type: "allow" },
    }),
  });
const rejects = guard("no large refunds", { type: "rejectContent", message: "Larger than 5." });
const throws = guard("no large refunds", { type: "throwException" });

const large = async (_: unknown, { n }: { n: number }) => n > 5;

test.each<[string, object, n: number, isApproved: boolean, paid: number[], asked: number, reads: RegExp]>([
  ["no rule", { needsApproval: false }, 1, true, [1], 0, /paid 1/],
  ["needsApproval, approved", { needsApproval: true }, 1, true, [1], 1, /paid 1/],
  ["needsApproval, rejected", { needsApproval: true }, 1, false, [], 1, /not approved/],
  ["needsApproval of the input", { needsApproval: large }, 9, true, [9], 1, /paid 9/],
  ["a guardrail that rejects", { inputGuardrails: [rejects] }, 9, true, [], 0, /Larger than 5\./],
  ["a guardrail that lets it pass", { inputGuardrails: [rejects] }, 1, true, [1], 0, /paid 1/],
])("%s means the same for a call of the model and for one of its program", (_, rule, n, yes, ...expected) =>
  expectSame(
    (runtime, code) => run(toolsOf(runtime, rule), "run_program", { code }, () => yes),
    (call) => {
      const about = { name: "refund", description: "Refunds", parameters: z.object({ n: z.number() }) };
      const refund = tool({ ...about, ...rule, execute: (input) => call(input) });
      const only = () => [refund];
      return run(only, "refund", { n }, () => yes);
    },
    expected,
    { n },
  ),
);

test("a guardrail that ends the run ends it for a call of a program too, and the call is denied", async () => {
  const { runtime, paid } = await openRefunds();
  const code = `return tools.refund({ n: 9 }).catch(({ code }) => code)`;
  await expect(run(toolsOf(runtime, { inputGuardrails: [throws] }), "run_program", { code })).rejects.toThrow(
    /Tool input guardrail triggered: no large refunds/,
  );
  expect(paid).toEqual([]);
});

test("a rejected call ends the program, and the journal has the denial with the next call of the run", async () => {
  const { runtime, paid } = await openRefunds();
  const [program] = await toolsOf(runtime, { needsApproval: true })();
  const only = () => [program!];
  const { state } = await run(only, "run_program", { code: THREE }, () => false);
  const { needsApproval } = program as {
    needsApproval: (context: unknown, input: unknown, id: string) => Promise<boolean>;
  };
  expect(
    await needsApproval((state as never as Record<string, unknown>)["_context"], { code: "return 1" }, "later"),
  ).toBe(false);
  expect(paid).toEqual([]);
  expect(await decisionsOf(runtime)).toEqual([["1", false, "an approval of OpenAI Agents"]]);
});

test("options of one loop are refused for another, and so is an `approve` beside them", async () => {
  const { runtime } = await openRefunds();
  await expect(runtime.asTool("ai-sdk", { needsApproval: true })).rejects.toThrow(
    'asTool({ needsApproval }): expected to be left out: it is for "openai-agents"',
  );
  await expect(runtime.asTool("mcp", { interrupt: () => true })).rejects.toThrow('it is for "langchain"');
  const conversation = "chat 1";
  await expect(runtime.asTool("ai-sdk", { toolApproval: {}, conversation, approve: () => true })).rejects.toThrow(
    "to be left out beside toolApproval",
  );
  for (const means of [{ needsApproval: true }, { inputGuardrails: [rejects] }])
    await expect(runtime.asTool("openai-agents", means)).rejects.toThrow("asTool({ conversation }): expected an id");
});

/** A run of the SDK as its tools see it, with what a person has decided about calls of one id. */
function runWith(decided?: boolean) {
  const one = { decided, isToolApproved: () => one.decided };
  return one;
}

test("the same call with the same id in another run is a program of its own, which a person is asked about", async () => {
  const { runtime, paid } = await openRefunds({ approval: "always" });
  const { run_program } = await runtime.asTool("openai-agents", { needsApproval: false, conversation: "chat 1" });
  const input = { code: "return await tools.refund({ n: 1 });" };
  const details = { toolCall: { callId: "call_0" } };
  for (let n = 1; n <= 2; n += 1) {
    const run = runWith();
    expect(await run_program.needsApproval(run, input, "call_0")).toBe(true);
    run.decided = true;
    expect(await run_program.invoke(run, JSON.stringify(input), details)).toBe('"paid 1"');
    expect(paid).toHaveLength(n);
    // The run says of every call with this id that it was approved, and asks no more.
    expect(await run_program.invoke(run, JSON.stringify(input), details)).toContain("waits for a person");
    expect(paid).toHaveLength(n);
    // A run that is read from its state once more has the result that it had.
    expect(await run_program.invoke(runWith(true), JSON.stringify(input), details)).toBe('"paid 1"');
    expect(paid).toHaveLength(n);
  }
});
