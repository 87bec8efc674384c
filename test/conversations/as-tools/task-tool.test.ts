import { expect, test } from "vitest";
import { z } from "zod";
import { taskTool } from "../../../src/conversations/files/index.ts";
import { withoutSideEffects } from "../../../src/comparison/task.ts";
import { PortcullisError } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/runtime/testing.ts";
import { agentOf, executed, makeTool, runtimeWith } from "../../support/index.ts";

const agent = (name: string, options: object = {}) =>
  agentOf(name, scriptedModel([({ said }) => ({ text: `${name}: ${said[0]}` })]), options);

test("one tool names the agents, and gives each its task with the context", async () => {
  const task = taskTool([agent("clerk"), agent("law.reader")]);
  expect(task.description).toContain("\n- clerk: Does clerk\n- law.reader: Does law.reader");
  await using runtime = await runtimeWith([task]);
  const { outcome } = await runtime.execute(`return Promise.all([
    tools.task({ agent: "clerk", task: "count" }),
    tools.task({ agent: "law.reader", task: "read", context: "Article 1" }),
  ]);`);
  expect(outcome).toEqual({ type: "completed", value: ["clerk: count", "law.reader: read\n\nArticle 1"] });
  expect(runtime.declarations()).toContain('agent: "clerk" | "law.reader"');
});

test("an agent that is not there is refused before anything runs", async () => {
  const model = scriptedModel([{ text: "x" }]);
  await using runtime = await runtimeWith([taskTool([agent("clerk", { model })])]);
  for (const input of [
    { agent: "other", task: "x" },
    { agent: "toString", task: "x" },
    { agent: "clerk", task: "" },
  ])
    expect(await runtime.call({ tool: "task", caller: "direct", input })).toMatchObject({ code: "input_invalid" });
  expect(model.conversations).toEqual([]);
});

test("the effect of a call is its agent's, and so is the failure", async () => {
  const task = taskTool([agent("reads"), agent("writes", { tools: [makeTool({ effect: "write" })] })]);
  expect([task.effect, task.effectOf?.({ agent: "reads" }), task.effectOf?.({ agent: "writes" })]).toEqual([
    "write",
    "read",
    "write",
  ]);
  expect(task.effectOf?.({ agent: "other" })).toBe("write");
  expect(taskTool([agent("reads")]).effect).toBe("read");
  const failing = agent("fails", { model: scriptedModel([{ failure: { code: "key_refused", message: "secret" } }]) });
  await using runtime = await runtimeWith([taskTool([failing])]);
  expect(await runtime.call({ tool: "task", caller: "direct", input: { agent: "fails", task: "x" } })).toMatchObject({
    message: expect.stringContaining("fails has no answer") as string,
  });
});

test("an agent with a schema gives its value, changed by the schema once, beside agents that give text", async () => {
  const answer = z.object({ units: z.number().overwrite((units) => units + 1) });
  const counts = agent("counts", { model: scriptedModel([{ text: '{"units":4}' }]), answer });
  const task = taskTool([counts, agent("clerk")]);
  expect([task.outputSchema, taskTool([agent("clerk")]).outputSchema === undefined]).toEqual([undefined, false]);
  const { outcome } = await executed([task], 'return tools.task({ agent: "counts", task: "x" });');
  expect(outcome).toEqual({ type: "completed", value: { units: 5 } });
});

test("callers, concurrency and timeout are those that suit every agent", () => {
  const agents = [
    agent("a", { concurrency: 7, timeoutMs: 5 }),
    agent("b", { allowedCallers: ["direct"], concurrency: 3, timeoutMs: 9 }),
  ];
  const facts = ({ name, allowedCallers, concurrency, timeoutMs }: ReturnType<typeof taskTool>) => [
    name,
    allowedCallers,
    concurrency,
    timeoutMs,
  ];
  expect(facts(taskTool(agents))).toEqual(["task", ["direct"], 3, 9]);
});

test("a measurement does not call it, because it is an agent", () => {
  const { execute: handler } = withoutSideEffects(taskTool([agent("clerk")]));
  expect(() => (handler as () => unknown)()).toThrow("task is an agent");
});

test.each([
  ["no list", "clerk", "taskTool(agents): expected agents made by agentAsTool or loadAgents, at least one"],
  [
    "another tool",
    [agent("clerk"), makeTool()],
    "taskTool(agents[1]): expected an agent made by agentAsTool or loadAgents",
  ],
  ["two of one name", [agent("clerk"), agent("clerk")], 'Two tools are named "clerk"'],
  [
    "no caller in common",
    [agent("a", { allowedCallers: ["direct"] }), agent("b", { allowedCallers: ["programmatic"] })],
    "Give them allowedCallers that they share.",
  ],
])("%s is refused", (_, agents, message) => {
  const make = () => taskTool(agents as never);
  expect(make).toThrow(PortcullisError);
  expect(make).toThrow(message);
});
