import { expect, test } from "vitest";
import { untilAborted } from "../../src/values/until-aborted.ts";

test("it gives what the work gives, or rejects with the reason of the signal, also one that was aborted before", async () => {
  const controller = new AbortController();
  expect(await untilAborted(Promise.resolve(4), controller.signal)).toBe(4);
  const waiting = untilAborted(new Promise(() => {}), controller.signal);
  const reason = new Error("Enough.");
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(untilAborted(Promise.resolve(4), controller.signal)).rejects.toBe(reason);
});
