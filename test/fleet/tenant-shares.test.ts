import { expect, test } from "vitest";
import { TenantShares } from "../../src/fleet/tenant-shares.ts";

test("what the journal tells and what was taken since count, each execution once", async () => {
  const held = new Map([["a", 1]]);
  const shares = new TenantShares(async () => held, 2);
  expect(await shares.passedOver()).toEqual([]);
  expect([shares.take("a"), shares.take("a"), shares.take("b")]).toEqual([true, false, true]);
  held.set("a", 2);
  expect(await shares.passedOver()).toEqual(["a"]);
  shares.giveBack("a");
  held.set("a", 1);
  expect(await shares.passedOver()).toEqual([]);
  expect(shares.take("a")).toBe(true);
});

test("what was taken and is not claimed yet counts, although the journal does not tell it", async () => {
  const shares = new TenantShares(async () => new Map(), 1);
  expect(shares.take("a")).toBe(true);
  await shares.passedOver();
  expect(shares.take("a")).toBe(false);
  shares.giveBack("a");
  expect(shares.take("a")).toBe(true);
});

test("without a bound the journal is not asked", async () => {
  const shares = new TenantShares(() => Promise.reject(new Error("asked")));
  expect(await shares.passedOver()).toEqual([]);
  expect(Array.from({ length: 50 }, () => shares.take("a")).every(Boolean)).toBe(true);
});
