import { expect, test } from "vitest";
import { InProcessGuest } from "../../src/sandboxes/in-process-guest.ts";

class SilentGuest extends InProcessGuest {
  send(): void {}
}

test("the first ending counts, and ends the frames", async () => {
  const guest = new SilentGuest();
  guest.frames.push(["before"]);
  guest.kill("cancelled");
  guest.release();
  await guest[Symbol.asyncDispose]();
  expect(await guest.exit).toEqual({ type: "killed", reason: "cancelled" });
  expect(await Array.fromAsync(guest.frames)).toEqual([["before"]]);
});

test("a guest that is disposed of has ended", async () => {
  const guest = new SilentGuest();
  await guest[Symbol.asyncDispose]();
  expect(await guest.exit).toEqual({ type: "killed", reason: "disposed" });
});
