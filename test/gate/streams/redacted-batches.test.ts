import { expect, test } from "vitest";
import { RedactedBatches } from "../../../src/gate/streams/redacted-batches.ts";
import type { Batch } from "../../../src/gate/streams/stream-reader.ts";
import { HeldBytes } from "../../../src/values/held-bytes.ts";

function batchOf(items: readonly unknown[]): Batch {
  const body = JSON.stringify(items);
  return { body, count: items.length, bytes: body.length, values: items.length, heldBytes: body.length };
}

/** A search that finds nothing, with the texts that it was given. */
function searching() {
  const seen: unknown[][] = [];
  const redact = (json: string) => {
    seen.push(JSON.parse(json) as unknown[]);
    return Promise.resolve(json);
  };
  return { seen, batches: new RedactedBatches(redact, new HeldBytes(1_000_000).share("", 1_000_000).lane) };
}

test("a batch is searched with the items before and after it, and given without them", async () => {
  const { seen, batches } = searching();
  const [one, two, three] = [batchOf([1, 2]), batchOf([3]), batchOf([4, 5])];
  expect(await batches.itemsOf(one, two)).toEqual([1, 2]);
  expect(await batches.itemsOf(two, three)).toEqual([3]);
  expect(await batches.itemsOf(three, undefined)).toEqual([4, 5]);
  expect(seen).toEqual([
    [1, 2, 3],
    [1, 2, 3, 4, 5],
    [3, 4, 5],
  ]);
});

test("only so many items around a batch are searched again, and none that may be of any size", async () => {
  const { seen, batches } = searching();
  const many = batchOf(Array.from({ length: 500 }, (_, item) => item));
  const large = batchOf(["x".repeat(200_000)]);
  expect(await batches.itemsOf(many, many)).toHaveLength(500);
  expect(await batches.itemsOf(many, large)).toHaveLength(500);
  expect(await batches.itemsOf(large, undefined)).toHaveLength(1);
  expect(await batches.itemsOf(many, undefined)).toHaveLength(500);
  expect(seen.map(({ length }) => length)).toEqual([756, 756, 257, 500]);
});

test("a batch that cannot be redacted is marks", async () => {
  const batches = new RedactedBatches(() => Promise.resolve('"out"'), new HeldBytes(1000).share("", 1000).lane);
  expect(await batches.itemsOf(batchOf([1, 2]), undefined)).toEqual(["out", "out"]);
});
