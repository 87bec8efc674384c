import { expect, test } from "vitest";
import { createRuntime } from "../../src/index.ts";
import { createMemorySandbox } from "../../src/testing.ts";

test("timers that were set at one time fire in the order of their times, however long it takes to arm them", async () => {
  await using runtime = await createRuntime({ tools: [], sandbox: createMemorySandbox() });
  const { outcome, execution } = await runtime.execute(`
    const order = [];
    await new Promise((done) => {
      const nap = (ms) => setTimeout(() => order.push(ms) === 3 && done(), ms);
      nap(60);
      for (let n = 0; n < 40_000; n += 1) clearTimeout(setTimeout(() => {}, 1_000_000));
      nap(40);
      nap(20);
    });
    return order;
  `);
  expect(outcome).toEqual({ type: "completed", value: [20, 40, 60] });
  expect((await runtime.execution(execution).replay()).type).toBe("identical");
});
