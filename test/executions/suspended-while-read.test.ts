import { expect, test } from "vitest";
import { runtimeWith } from "../support/runtime.ts";

/** Takes seconds to read: groups of one name are compared with each other on each level. */
const pattern = Array.from({ length: 400 }, () => 0).reduce((inner) => `(?:${inner}|(?<a>))`, "(?<a>)");
const SLOW = `return /${pattern}/.test("");`;

test("a program that is still being read when its runtime is suspended was not started, and is told so", async () => {
  await using runtime = await runtimeWith([]);
  const running = Promise.allSettled(["a", "b", "c"].map((execution) => runtime.execute(SLOW, { id: execution })));
  expect(await runtime.suspend()).toBe(0);
  for (const one of await running)
    expect(one).toMatchObject({ status: "rejected", reason: { code: "runtime_closed" } });
  await expect(runtime.journal.find("c")).rejects.toMatchObject({ code: "execution_unknown" });
});
