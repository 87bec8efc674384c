import { array, assert, asyncProperty, subarray } from "fast-check";
import { expect, test } from "vitest";
import { createRuntime } from "../../src/index.ts";
import { runtimeFor } from "../../src/serve/runtime-for.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { CALLERS } from "../../src/tools/tool.ts";
import { holdCalls, makeTool } from "../gate/open-session.ts";

const sandbox = createMemorySandbox();

test("a tool has one concurrency for all keys, whatever callers and tools they have", async () => {
  const keysOf = array(subarray([...CALLERS], { minLength: 1 }), { minLength: 2, maxLength: 6 });
  await assert(
    asyncProperty(keysOf, async (keys) => {
      const calls = holdCalls();
      const tool = makeTool({ name: "held", allowedCallers: [...CALLERS], concurrency: 2, execute: calls.handler });
      await using runtime = await createRuntime({ tools: [tool], sandbox });
      const answers = keys.map((callers, index) => {
        const principal = { id: `key-${index}`, tenant: `tenant-${index}`, allowedCallers: callers, tools: ["held"] };
        const [caller = "direct"] = callers;
        return runtimeFor(runtime, principal).call({ tool: "held", input: {}, caller });
      });
      for (let released = 0; released < keys.length; released += 1) {
        await calls.untilStarted(Math.min(released + 2, keys.length));
        calls.release();
      }
      for (const answer of await Promise.all(answers)) expect(answer).toMatchObject({ ok: true });
      expect(calls.counts.mostAtOnce).toBe(2);
    }),
    { numRuns: 30 },
  );
});

test("the runtime of a key that holds no more begins nothing, also if another key has its id by then", async () => {
  const runs: unknown[] = [];
  const tool = makeTool({ name: "pay", allowedCallers: [...CALLERS], execute: (input) => runs.push(input) });
  await using runtime = await createRuntime({ tools: [tool], sandbox });
  await using server = runtime.derive({}, { owners: { now: () => ({ signal: new AbortController().signal }) } });
  const former = runtimeFor(server, { id: "k", tenant: "t" }, AbortSignal.abort(new Error("replaced")));
  expect((await former.execute("return tools.pay({});")).outcome).toMatchObject({ type: "cancelled" });
  expect(await former.call({ tool: "pay", input: {}, caller: "direct" })).toMatchObject({ ok: false });
  expect(runs).toEqual([]);
});
