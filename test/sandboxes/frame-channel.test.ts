import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { encodeFrames } from "../../bridge/wire.ts";
import { FrameChannel } from "../../src/sandboxes/frame-channel.ts";

const LARGE = "x".repeat(300 * 1024);

test("the next guest is heard, though nobody reads what an earlier one has left", () => {
  const channel = new FrameChannel();
  const source = new PassThrough();
  channel.connect(source, new PassThrough());
  channel.allow(1024 * 1024);
  channel.frames.push(channel.decode(encodeFrames([LARGE])));
  expect(source.isPaused()).toBe(true);
  channel.renew();
  expect(source.isPaused()).toBe(false);
  expect(channel.decode(encodeFrames(["ready"]))).toEqual(["ready"]);
});

test("a queue that is full pauses its guest until it is read", async () => {
  const channel = new FrameChannel();
  const source = new PassThrough();
  channel.connect(source, new PassThrough());
  channel.allow(1024 * 1024);
  channel.frames.push(channel.decode(encodeFrames([LARGE])));
  expect(await channel.frames[Symbol.asyncIterator]().next()).toEqual({ done: false, value: [LARGE] });
  expect(source.isPaused()).toBe(false);
});
