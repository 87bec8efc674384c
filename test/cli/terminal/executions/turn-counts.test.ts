import { expect, test } from "vitest";
import { z } from "zod";
import { callsOf, programsOf, workText } from "../../../../src/cli/terminal/executions/turn-counts.ts";
import { agentAsTool, createRuntime, defineTool } from "../../../../src/index.ts";
import { createMemorySandbox, scriptedModel } from "../../../../src/testing.ts";

const rows = defineTool({
  name: "rows",
  description: "Rows",
  input: z.object({}),
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  handler: () => [1, 2],
});

test("each call belongs to one turn, also those of programs and agents, so that turns add up to the usage", async () => {
  const clerk = agentAsTool({
    name: "clerk",
    description: "Clerk",
    allowedCallers: ["direct"],
    model: scriptedModel([{ calls: [{ tool: "rows" }] }, { text: "Two." }]),
    tools: [rows],
  });
  await using runtime = await createRuntime({ tools: [rows, clerk], sandbox: createMemorySandbox() });
  const model = scriptedModel([
    { programs: ["await tools.rows({}); await tools.rows({}); return 1;", "return 2;"], calls: [{ tool: "none" }] },
    { calls: [{ tool: "clerk", input: { task: "Count." } }] },
    { text: "Done." },
  ]);
  const { calls, transcript, usage } = await runtime.agent({ model, task: "Count." });
  const { turns } = transcript;
  expect(turns.map((one) => [programsOf([one]), callsOf([one], calls).length])).toEqual([
    [2, 3],
    [0, 2],
    [0, 0],
  ]);
  expect([programsOf(turns), callsOf(turns, calls)]).toEqual([2, calls]);
  expect(usage.calls).toBe(5);
});

test("programs are told if there are some", () => {
  expect(workText(2, 1, 1000)).toBe("2 turns, 1 program, 1,000 calls");
  expect(workText(1, 0, 0)).toBe("1 turn, 0 calls");
});

test("the approval of a program is none of the calls, in the conversation's report as in the program's", async () => {
  await using runtime = await createRuntime({
    tools: [rows],
    sandbox: createMemorySandbox(),
    approvePrograms: true,
    approve: () => true,
  });
  const model = scriptedModel([{ programs: ["await tools.rows({}); return 1;"] }, { text: "Done." }]);
  const { calls, usage } = await runtime.agent({ model, task: "Count." });
  expect([usage.calls, calls.map(({ tool }) => tool)]).toEqual([1, ["rows"]]);
  expect((await runtime.execute("return (await tools.rows({})).length;")).calls).toHaveLength(1);
});
