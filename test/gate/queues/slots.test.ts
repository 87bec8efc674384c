import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Slots } from "../../../src/gate/queues/slots.ts";

test("a task for which there is room starts before run returns", () => {
  let started = false;
  void new Slots(1).run(async () => {
    started = true;
  });
  expect(started).toBe(true);
});

test("tasks start in their order, no more at once than allowed, whatever they end with", async () => {
  const outcomes = fc.array(fc.constantFrom("value", "rejection", "throw"), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(outcomes, fc.integer({ min: 1, max: 5 }), async (endings, atOnce) => {
      const slots = new Slots(atOnce);
      const started: number[] = [];
      let running = 0;
      let most = 0;
      const ran = endings.map((ending, index) =>
        slots.run(() => {
          started.push(index);
          if (ending === "throw") throw new Error("thrown");
          running += 1;
          most = Math.max(most, running);
          return Promise.resolve().then(() => {
            running -= 1;
            if (ending === "rejection") throw new Error("rejected");
          });
        }),
      );
      const settled = await Promise.allSettled(ran);
      expect(settled.map(({ status }) => status)).toEqual(
        endings.map((ending) => (ending === "value" ? "fulfilled" : "rejected")),
      );
      expect(started).toEqual(endings.map((_, index) => index));
      expect(most).toBeLessThanOrEqual(atOnce);
    }),
  );
});

test("after a pause no task starts any more, and those that run end", async () => {
  const slots = new Slots(1);
  const first = Promise.withResolvers<string>();
  const running = slots.run(() => first.promise);
  const started: string[] = [];
  void slots.run(async () => void started.push("waiting"));
  slots.pause();
  void slots.run(async () => void started.push("late"));
  first.resolve("done");
  expect(await running).toBe("done");
  await Promise.resolve();
  expect(started).toEqual([]);
});
