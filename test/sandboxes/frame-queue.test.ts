import { expect, test } from "vitest";
import { FrameQueue } from "../../src/sandboxes/frame-queue.ts";

/** A queue that may hold a thousand characters, its reader, and what it asked of its writer. */
function makeQueue() {
  const asked: boolean[] = [];
  const queue = new FrameQueue(1000, (pause) => asked.push(pause));
  return { queue, asked, reader: queue[Symbol.asyncIterator]() };
}

test("all frames since the last read are read together, in order", async () => {
  const { queue, reader } = makeQueue();
  queue.push(["a"]);
  queue.push(["b", ""]);
  expect(await reader.next()).toEqual({ done: false, value: ["a", "b", ""] });
  queue.push(["c"]);
  expect(await reader.next()).toEqual({ done: false, value: ["c"] });
});

test("a reader waits until a frame arrives", async () => {
  const { queue, reader } = makeQueue();
  const reading = reader.next();
  queue.push([]);
  queue.push(["a"]);
  expect(await reading).toEqual({ done: false, value: ["a"] });
});

test("frames that arrived before the end can be read after it, and no others are taken", async () => {
  const { queue, reader, asked } = makeQueue();
  queue.push(["a"]);
  queue.end();
  queue.push(["much too late"]);
  expect(await reader.next()).toEqual({ done: false, value: ["a"] });
  expect(await reader.next()).toEqual({ done: true, value: undefined });
  expect(await reader.next()).toEqual({ done: true, value: undefined });
  expect(asked).toEqual([]);
});

test("the end wakes a reader that waits", async () => {
  const { queue, reader } = makeQueue();
  const reading = reader.next();
  queue.end();
  queue.end();
  expect(await reading).toEqual({ done: true, value: undefined });
});

test("a frame that the reader was given stays as it was, whatever arrives after it", async () => {
  const { queue, reader } = makeQueue();
  const frames = ["a"];
  queue.push(frames);
  frames.push("smuggled");
  const { value } = await reader.next();
  queue.push(["b"]);
  expect(value).toEqual(["a"]);
});

test("the writer is asked to pause when the queue is full, and to resume when it has been read", async () => {
  const { queue, reader, asked } = makeQueue();
  queue.push(["x".repeat(400), "y".repeat(400)]);
  expect(asked).toEqual([]);
  queue.push(["z".repeat(201)]);
  expect(asked).toEqual([true]);
  await reader.next();
  expect(asked).toEqual([true, false]);
  queue.push(["x".repeat(400), "y".repeat(400)]);
  await reader.next();
  expect(asked).toEqual([true, false]);
});

test("short and empty frames count with their overhead", async () => {
  const { queue, reader, asked } = makeQueue();
  for (let count = 0; count < 1000; count += 1) queue.push([""]);
  expect(asked[0]).toBe(true);
  await reader.next();
  expect(asked.at(-1)).toBe(false);
});

test("a single frame that is larger than the queue is taken", async () => {
  const { queue, reader, asked } = makeQueue();
  queue.push(["x".repeat(5000)]);
  expect(asked).toEqual([true]);
  expect(await reader.next()).toEqual({ done: false, value: ["x".repeat(5000)] });
  expect(asked).toEqual([true, false]);
});
