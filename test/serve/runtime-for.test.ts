import { array, assert, asyncProperty, subarray } from "fast-check";
import { expect, test } from "vitest";
import { createRuntime } from "../../src/index.ts";
import { runtimeFor } from "../../src/serve/runtime-for.ts";
import { createMemorySandbox } from "../../src/testing.ts";
import { CALLERS } from "../../src/tools/tool.ts";
import { holdCalls, makeTool } from "../gate/open-session.ts";

const sandbox = createMemorySandbox();

test("a tool has one concurrency for all keys, whatever callers and tools they have", async () => {
  const keysOf = array(subarray([...CALLERS], { minLength: 1 }), { minLength: 2, maxLength: 6 });
  await assert(
    asyncProperty(keysOf, async (keys) => {
      const calls = holdCalls();
      const tool = makeTool({ name: "held", allowedCallers: [...CALLERS], concurrency: 2, handler: calls.handler });
      await using runtime = await createRuntime({ tools: [tool], sandbox });
      const answers = keys.map((callers, index) => {
        const principal = { id: `key-${index}`, tenant: `tenant-${index}`, callers, tools: ["held"] };
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
