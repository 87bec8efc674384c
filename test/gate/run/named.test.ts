import { expect, test } from "vitest";
import { addNamed, keptNames, NAMED } from "../../../src/gate/run/named.ts";

test("the first of a result count, and the first of a session", () => {
  const many = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `doc:${from + index}`);
  expect(keptNames(many(NAMED.ofResult + 1))).toEqual(many(NAMED.ofResult));
  const named = new Set<string>();
  expect(named.has("doc:0")).toBe(false);
  addNamed(named, undefined);
  for (let from = 0; from < 12_000; from += 1000) addNamed(named, many(1000, from));
  expect([named.has("doc:9999"), named.has("doc:10000")]).toEqual([true, false]);
});
