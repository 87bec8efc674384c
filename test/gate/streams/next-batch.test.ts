import { array, assert, integer, property } from "fast-check";
import { expect, test } from "vitest";
import { BATCH_ITEMS, NextBatch } from "../../../src/gate/streams/next-batch.ts";
import type { Batch } from "../../../src/gate/streams/stream-reader.ts";

const item = (length: number) => {
  const text = JSON.stringify("x".repeat(length));
  return { text, bytes: text.length, values: 1, heldBytes: text.length };
};

const ignore = () => {};

test("items leave in their order, in batches that are within the bounds unless a single item is larger, and all is counted", () => {
  assert(
    property(
      array(integer({ min: 0, max: 300 }), { maxLength: 200 }),
      integer({ min: 2, max: 500 }),
      (lengths, bound) => {
        const next = new NextBatch(bound, false, ignore);
        const batches: Batch[] = [];
        for (const length of lengths) {
          next.add(item(length));
          while (next.isFull && next.count > 0) batches.push(next.take());
        }
        while (next.count > 0) batches.push(next.take());
        const given = batches.flatMap(({ body }) => JSON.parse(body) as string[]);
        expect(given.map((text) => text.length)).toEqual(lengths);
        for (const { body, count, bytes, values, heldBytes } of batches) {
          expect(bytes).toBe(body.length - 1);
          expect(values).toBe(count);
          expect(heldBytes).toBe(body.length - count - 1);
          if (count > 1) expect(bytes).toBeLessThanOrEqual(bound);
        }
        expect(next.drop()).toBe(0);
      },
    ),
  );
});

test("a batch is full with its number of items, and the first one much sooner", () => {
  const add = (next: NextBatch) => {
    for (let count = 1; ; count += 1) {
      next.add(item(0));
      if (next.isFull) return count;
    }
  };
  const next = new NextBatch(1_000_000, true, ignore);
  expect(add(next)).toBe(16);
  next.take();
  expect(add(next)).toBe(BATCH_ITEMS);
  expect(next.drop()).toBe(BATCH_ITEMS * 2);
});

test("an item that waits alone makes its batch leave, and a batch that has left does not", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const next = new NextBatch(1000, true, resolve);
  next.add(item(1));
  expect(next.isFull).toBe(false);
  await promise;
  expect(next.isFull).toBe(true);
  next.take();
  expect(next.isFull).toBe(false);
});
