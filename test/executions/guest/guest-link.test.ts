import { expect, test } from "vitest";
import { heldWithin, nextTurn } from "../../../src/base/index.ts";
import { guestLink } from "../../../src/executions/guest/guest-link.ts";
import { LIMIT_RULES } from "../../../src/executions/limits.ts";
import type { Guest } from "../../../src/sandboxes/sandbox.ts";
import { nothingInCommon } from "../../support/nothing-in-common.ts";

const MIB = 2 ** 20;

/** A guest that sends these frames and then nothing more. */
function guestOf(frames: readonly string[]): Guest {
  const never = new Promise<never>(() => {});
  const sent = async function* () {
    for (const frame of frames) yield [frame];
    await never;
  };
  const none = () => {};
  return { frames: sent(), exit: never, send: none, kill: none, release: none } as unknown as Guest;
}

test("what guests send in turns that do not end is held together, and ends the one for which there is no room", async () => {
  nothingInCommon();
  const held = heldWithin(16 * MIB);
  const print = `{"kind":"output","stream":"stdout","dropped":0}\n${JSON.stringify("x".repeat(MIB))}`;
  const ready = '{"kind":"ready","protocol":1,"language":"javascript"}';
  const limits = { totalBytes: 64 * MIB, frameBytes: 8 * MIB, memoryBytes: LIMIT_RULES.memoryBytes.default };
  const linkOf = (prints: number) => {
    const guest = guestOf([ready, ...Array.from({ length: prints }, () => print)]);
    const share = held.share("t", limits.totalBytes);
    const link = guestLink(guest, { language: "javascript", tenant: "t", limits, share } as never);
    link.send([{ head: { kind: "start" }, text: "{}" } as never]);
    return link;
  };
  const first = linkOf(4);
  void first.nextTurns();
  while (held.held < 4 * MIB) await nextTurn();
  const second = linkOf(20);
  expect(await second.nextTurns()).toMatchObject({ type: "no_room", overdraft: { limit: "heldBytes" } });
  expect(held.held).toBeLessThanOrEqual(held.allowed);
  for (const link of [first, second]) link.noteEnd();
  expect(held.held).toBe(0);
});
