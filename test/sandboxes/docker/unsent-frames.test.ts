import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { FrameDecoder } from "../../../bridge/wire.ts";
import { UnsentFrames } from "../../../src/sandboxes/docker/unsent-frames.ts";

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
  return { stream, arrived, read: () => taken.shift()?.() };
}

test("all frames arrive in their order, when the guest reads", async () => {
  const { stream, arrived, read } = slowStream();
  const unsent = new UnsentFrames(stream);
  const frames = Array.from({ length: 500 }, (_, index) => `${index} ${"x".repeat(5000)}`);
  for (const frame of frames) unsent.push([frame]);
  while (arrived.length < frames.length) {
    read();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(arrived).toEqual(frames);
});

test("what a guest leaves unread becomes bytes only up to a bound, however many answers it is", () => {
  const { stream } = slowStream();
  const unsent = new UnsentFrames(stream);
  for (let answer = 0; answer < 200; answer += 1) unsent.push(["x".repeat(MIB)]);
  expect(stream.writableLength).toBeLessThan(2 * MIB);
});

test("after the end nothing more is sent", async () => {
  const { stream, arrived, read } = slowStream();
  const unsent = new UnsentFrames(stream);
  unsent.push(["x".repeat(MIB), "late"]);
  unsent.clear();
  read();
  await new Promise((resolve) => setImmediate(resolve));
  expect(arrived.length).toBe(1);
});
