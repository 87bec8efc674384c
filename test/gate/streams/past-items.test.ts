import { array, assert, integer, json, nat, pre, property } from "fast-check";
import { expect, test } from "vitest";
import { ItemsDigest, PastItems } from "../../../src/gate/streams/past-items.ts";

const texts = array(json(), { minLength: 1, maxLength: 20 });

/** The digest of these items, put into batches of a size. */
function digestOf(items: readonly string[], size: number): string {
  const digest = new ItemsDigest();
  for (let from = 0; from < items.length; from += size) digest.add(items.slice(from, from + size).join(","));
  return digest.hex;
}

const past = (items: readonly string[], size = 3) => ({
  items: items.length,
  bytes: 1,
  batches: 1,
  asked: 1,
  digest: digestOf(items, size),
});

test("items that are yielded again are skipped, however they were put into batches", () => {
  assert(
    property(texts, integer({ min: 1, max: 20 }), (items, size) => {
      const again = new PastItems(past(items, size), () => false);
      for (const item of items) {
        expect(again.isSkipping).toBe(true);
        expect(again.skip(item)).toBe(true);
      }
      expect(again.isSkipping).toBe(false);
    }),
  );
});

test("one other item among those that are yielded again is found", () => {
  assert(
    property(texts, nat(), (items, at) => {
      const again = new PastItems(past(items), () => false);
      const changed = items.with(at % items.length, '"another"');
      pre(changed.join() !== items.join());
      expect(changed.map((item) => again.skip(item)).at(-1)).toBe(false);
    }),
  );
});

test("nothing is skipped if the handler goes on after the last item, or nothing was given", () => {
  expect(new PastItems(past(["1"]), () => true).isSkipping).toBe(false);
  expect(new PastItems(undefined, () => false).isSkipping).toBe(false);
});
