import { describe, expect, test } from "vitest";
import { createRuntime } from "../../src/index.ts";
import { type ParityCase, type ParityLoop, policyParity, scriptedModel } from "../../src/testing.ts";
import { LOOPS } from "../frameworks/drive-loops.ts";
import { ALL_TESTS } from "../support/all-tests.ts";

/** A call as the tools of other packages' loops make it: their handler passes the value on, or what is wrong. */
const byHost: ParityLoop["direct"] = async (runtime, call) => {
  const answer = await runtime.call({ ...call, caller: "direct" });
  return answer.ok ? JSON.stringify("value" in answer ? answer.value : undefined) : answer.message;
};

const loops: readonly ParityLoop[] = [
  ...LOOPS.map(({ name, drive }): ParityLoop => ({
    name,
    direct: byHost,
    program: async (runtime, code) => (await drive(runtime, { code })).text ?? "",
  })),
  {
    name: "runtime.agent",
    direct: async (runtime, call) => {
      const model = scriptedModel([{ calls: [call] }, ({ results }) => ({ text: results[0]?.text ?? "" })]);
      return (await runtime.agent({ model, task: "post" })).answer ?? "";
    },
    program: async (runtime, code) => {
      const model = scriptedModel([{ programs: [code] }, ({ results }) => ({ text: results[0]?.text ?? "" })]);
      return (await runtime.agent({ model, task: "post" })).answer ?? "";
    },
  },
];

/** `make test` takes one case in thirty, of each loop others. */
const some = (cases: readonly ParityCase[], from: number) =>
  ALL_TESTS ? cases : cases.filter((_, index) => index % 30 === from % 30);

describe.each(loops)("$name", (loop) => {
  test("treats a call of a program as it treats the same call of the model, whatever the rules", async () => {
    for (const { title, run } of some(policyParity(loop), loops.indexOf(loop)))
      await run().catch((error: unknown) => expect.fail(`${title}: ${String(error)}`));
  });
});

test.each<[string, Partial<ParityLoop>, RegExp]>([
  [
    "makes calls of programs outside of the gate",
    { program: async () => "posted 3" },
    /the call of the program differs in what was (handled|asked|records)/,
  ],
  [
    "reads something else",
    {
      direct: async (runtime, call) => {
        await byHost(runtime, call);
        return "done";
      },
    },
    /the call of the model is answered "done"/,
  ],
  [
    "loosens the rules for programs",
    {
      program: async (runtime, code) => {
        await using loose = await createRuntime({
          tools: [...runtime.tools.all],
          journal: runtime.journal,
          sandbox: runtime.sandbox,
          approve: () => true,
        });
        return (await loose.execute(code)).output.text;
      },
    },
    /the call of the program differs/,
  ],
  [
    "makes a call twice",
    {
      direct: async (runtime, call) => {
        await byHost(runtime, call);
        return byHost(runtime, call);
      },
    },
    /the call of the model differs/,
  ],
])("a loop that %s is found", async (_, wrong, message) => {
  const right: ParityLoop = {
    name: "x",
    direct: byHost,
    program: async (runtime, code) => (await runtime.execute(code)).output.text,
  };
  const failures: string[] = [];
  for (const { run } of policyParity({ ...right, ...wrong }).slice(0, 60))
    await run().catch((error: Error) => failures.push(error.message));
  expect(failures.join("\n")).toMatch(message);
});
