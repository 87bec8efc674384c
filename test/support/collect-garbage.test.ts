import { setImmediate } from "node:timers/promises";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { collectGarbage } from "./collect-garbage.ts";

test("garbage can be collected in a process whose programs see no `gc`", async () => {
  const garbage = makeGarbage();
  // What a WeakRef was made of is held until the end of the turn.
  await setImmediate();
  collectGarbage();
  expect(garbage.deref()).toBeUndefined();
  expect(runInNewContext("Object.keys(globalThis)")).toEqual([]);
});

function makeGarbage(): WeakRef<object> {
  return new WeakRef({});
}
