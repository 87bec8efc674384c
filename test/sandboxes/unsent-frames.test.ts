import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { FrameDecoder } from "../../bridge/wire.ts";
import { UnsentFrames } from "../../src/sandboxes/unsent-frames.ts";

const MIB = 1024 * 1024;

/** A stream that takes one write after the other, each when it is told to. */
function slowStream() {
  const decoder = new FrameDecoder(64 * MIB);
  const arrived: string[] = [];
  const taken: (() => void)[] = [];
  const stream = new Writable({
    highWaterMark: 16 * 1024,
    write(chunk: Buffer, _encoding, done) {
      arrived.push(...decoder.push(chunk));
      taken.push(done);
    },
  });
  /** Takes one write after the other until so many frames have arrived, and looks at what is unsent before each. */
  const readAll = async (count: number, look = () => {}) => {
    while (arrived.length < count) {
      look();
      taken.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { stream, arrived, readAll };
}

test("all frames arrive in their order, when the guest reads", async () => {
  const { stream, arrived, readAll } = slowStream();
  const unsent = new UnsentFrames(stream);
  const frames = Array.from({ length: 500 }, (_, index) => `${index} ${"x".repeat(5000)}`);
  for (const frame of frames) unsent.push([frame]);
  await readAll(frames.length);
  expect(arrived).toEqual(frames);
});

test("unread answers are encoded only up to a bound, however many there are", () => {
  const { stream } = slowStream();
  const unsent = new UnsentFrames(stream);
  for (let answer = 0; answer < 200; answer += 1) unsent.push(["x".repeat(MIB)]);
  expect(stream.writableLength).toBeLessThan(2 * MIB);
});

test.each([
  ["of one byte a character", "x"],
  ["beyond Latin-1", "\u4e16"],
  ["of characters that take two units", "\u{1f6aa}"],
  ["of halves of such", "\ud83d"],
])("one large answer is encoded in bounded parts and arrives unchanged: text %s", async (_, character) => {
  const { stream, arrived, readAll } = slowStream();
  const unsent = new UnsentFrames(stream);
  const large = `.${character.repeat(8 * MIB)}`.slice(0, 8 * MIB);
  unsent.push(["before", large, "after"]);
  let mostBytes = 0;
  await readAll(3, () => (mostBytes = Math.max(mostBytes, stream.writableLength)));
  expect(mostBytes).toBeLessThan(MIB);
  // Compared so that a failure does not print it.
  expect(arrived.map((text) => text === (text.length > 10 ? large.toWellFormed() : text))).toEqual([true, true, true]);
  expect([arrived[0], arrived[2]]).toEqual(["before", "after"]);
});

test.each([
  ["of one byte a character", "x"],
  ["beyond Latin-1", "\u4e16"],
  ["of characters that take two units", "\u{1f6aa}"],
])("an answer in pieces arrives as one frame: text %s", async (_, character) => {
  const { stream, arrived, readAll } = slowStream();
  const unsent = new UnsentFrames(stream);
  const pieces = ["head\n", character.repeat(MIB), "", "plain".repeat(100_000), character];
  unsent.push([["sm", "all"], pieces, "after"]);
  await readAll(3);
  expect([arrived[0], arrived[1] === pieces.join(""), arrived[2]]).toEqual(["small", true, "after"]);
});

test("a frame waits until the last part of it is on its way", async () => {
  const { stream, arrived, readAll } = slowStream();
  const unsent = new UnsentFrames(stream);
  unsent.push(["before", "x".repeat(MIB), "after"]);
  expect(unsent.waiting).toBe(2);
  await readAll(3, () => expect(unsent.waiting).toBeLessThanOrEqual(3 - arrived.length));
  expect(unsent.waiting).toBe(0);
});
