import { expect, test } from "vitest";
import { keptNames, NAMED, NamedAddresses, nameDigest } from "../../../src/gate/run/named.ts";

test("the digest of an address is of its source too, and is of one length", () => {
  const [one, other] = ["a", "b"].map((source) => nameDigest({ source }, "doc:1"));
  expect(one).not.toBe(other);
  expect(nameDigest({}, "doc:1")).not.toBe(one);
  expect(nameDigest({ source: "a" }, "doc:1")).toBe(one);
  expect(one).toMatch(/^[\w-]{22}$/);
});

test.each<readonly [string, unknown, readonly string[]]>([
  ["no list", "doc:1", []],
  ["what is no text, or empty", [1, null, "", {}, "doc:1"], ["doc:1"]],
  ["one twice", ["doc:1", "doc:1"], ["doc:1"]],
  ["one that is too long in bytes", ["é".repeat(NAMED.bytes / 2), "é".repeat(NAMED.bytes / 2 + 1)], ["é".repeat(1024)]],
])("of %s what counts is kept", (_what, given, kept) => {
  expect(keptNames(given)).toEqual(kept);
});

test("the first of a result count, and the first of a session", () => {
  const many = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `doc:${from + index}`);
  expect(keptNames(many(NAMED.ofResult + 1))).toEqual(many(NAMED.ofResult));
  const named = new NamedAddresses();
  expect(named.has("doc:0")).toBe(false);
  named.add(undefined);
  for (let from = 0; from < 12_000; from += 1000) named.add(many(1000, from));
  expect([named.has("doc:9999"), named.has("doc:10000")]).toEqual([true, false]);
});
