import { expect, test } from "vitest";
import { keptNames, NAMED, NamedAddresses } from "../../../src/gate/run/named.ts";

test("the first of a result count, and the first of a session", () => {
  const many = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `doc:${from + index}`);
  expect(keptNames(many(NAMED.ofResult + 1))).toEqual(many(NAMED.ofResult));
  const named = new NamedAddresses();
  expect(named.has("doc:0")).toBe(false);
  named.add(undefined);
  for (let from = 0; from < 12_000; from += 1000) named.add(many(1000, from));
  expect([named.has("doc:9999"), named.has("doc:10000")]).toEqual([true, false]);
});
