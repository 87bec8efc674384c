import { expect, test } from "vitest";
import { frameText } from "../../../bridge/frames.ts";
import { answerEvent, stopEvent } from "../../../src/programs/guest/guest-event.ts";
import { GuestLink } from "../../../src/programs/guest/guest-link.ts";
import type { Guest, Sandbox } from "../../../src/sandboxes/sandbox.ts";

const MIB = 1024 * 1024;
const limits = { memoryBytes: 64 * MIB, frameBytes: MIB, totalBytes: 64 * MIB };

/** A sandbox whose guest says these frames, whatever it is sent. */
function saying(
  frames: readonly string[],
  sends: Pick<Guest, "send" | "sendPieces" | "unsent"> = { send() {} },
): Sandbox {
  const exit = { type: "killed" as const, reason: "" };
  const guest: Guest = {
    ...sends,
    frames: (async function* said() {
      yield frames;
    })(),
    exit: Promise.resolve(exit),
    usage: () => ({ peakMemoryBytes: 0, processorMs: undefined }),
    kill() {},
    release() {},
    async [Symbol.asyncDispose]() {},
  };
  return { name: "saying", languages: ["javascript"], open: async () => guest, async [Symbol.asyncDispose]() {} };
}

test.each([
  ["x", 1_100_000],
  ["é", 600_000],
  ["漢", 600_000],
  ["😀", 300_000],
])("a turn of %s is bounded by the memory that it takes, and not by its characters", async (character, count) => {
  const output = frameText({
    kind: "output",
    stream: "stdout",
    dropped: 0,
    body: JSON.stringify(character.repeat(count / 4)),
  });
  const ready = frameText({ kind: "ready", protocol: 1, language: "javascript" });
  const options = { language: "javascript" as const, limits, tenant: "t", turnBytes: MIB };
  const heard = async (outputs: number) => {
    const sandbox = saying([ready, ...Array.from({ length: outputs }, () => output), '{"kind":"turn_end","open":0}']);
    const link = await GuestLink.open(sandbox, options, new AbortController().signal);
    link.send([stopEvent(1)]);
    return link.nextTurns();
  };
  expect(await heard(3)).toMatchObject([{ settled: false }]);
  expect(await heard(4)).toMatchObject({ type: "too_long" });
});

test("a large answer is sent in pieces to a guest that takes them, and joined to another one", async () => {
  const answer = { ok: true as const, text: JSON.stringify("x".repeat(MIB)), bytes: MIB + 2 };
  const events = [stopEvent(1), answerEvent(2, 7, answer)];
  const texts = events.map(({ text }) => text);
  const options = { language: "javascript" as const, limits, tenant: "t" };
  const sentTo = async (takesPieces: boolean) => {
    const sent: (string | readonly string[])[] = [];
    const send = (frames: readonly (string | readonly string[])[]) => void sent.push(...frames);
    const sandbox = saying([], takesPieces ? { send() {}, sendPieces: send } : { send });
    const link = await GuestLink.open(sandbox, options, new AbortController().signal);
    link.send(events);
    return sent;
  };
  const [stop, pieces] = await sentTo(true);
  expect([stop, pieces?.[1] === answer.text]).toEqual([texts[0], true]);
  expect(typeof pieces === "object" && pieces.join("") === texts[1]).toBe(true);
  const [, joined] = await sentTo(false);
  expect(joined === texts[1]).toBe(true);
});

test.each([
  ["was sent whole", 0, [{ settled: false }]],
  ["still waits to be sent", 1, { type: "violation" }],
])("the turn of an event that %s", async (_, unsent, heard) => {
  const ready = frameText({ kind: "ready", protocol: 1, language: "javascript" });
  const sandbox = saying([ready, '{"kind":"turn_end","open":0}'], { send() {}, unsent });
  const options = { language: "javascript" as const, limits, tenant: "t" };
  const link = await GuestLink.open(sandbox, options, new AbortController().signal);
  link.send([stopEvent(1)]);
  expect(await link.nextTurns()).toMatchObject(heard);
});
