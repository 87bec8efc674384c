import { getHeapStatistics } from "node:v8";
import { beforeEach, expect, test } from "vitest";
import { defaultHeldBytes, heldWithin, heldInCommon, memoryOf } from "../../../src/base/index.ts";
import { nothingInCommon } from "../../support/nothing-in-common.ts";

beforeEach(nothingInCommon);

test("a text takes a byte for each character in memory, or two for each where one is not ASCII", () => {
  expect(memoryOf("abc")).toBe(3);
  expect(memoryOf(`${"a".repeat(1000)}→`)).toBe(2002);
  expect(memoryOf("😀")).toBe(4);
});

test("by default all executions together hold a quarter of what V8's heap may be, or less", () => {
  expect(defaultHeldBytes()).toBeGreaterThan(1024 * 1024);
  expect(defaultHeldBytes()).toBeLessThanOrEqual(getHeapStatistics().heap_size_limit / 4);
});

test("one execution may hold half of the budget, and others the half of what is left each", () => {
  const runtime = heldWithin(1000);
  const shares = ["a", "b", "c"].map((tenant) => runtime.share(tenant, 1_000_000));
  for (const share of shares) while (!share.hold(1));
  expect(shares.map(({ held }) => held)).toEqual([500, 250, 125]);
  expect(shares[0]?.hold(1)).toEqual({ limit: "heldBytes", allowed: 125, seen: 501 });
});

test("what is held ends with its execution, and what comes later is not counted", () => {
  const runtime = heldWithin(1000);
  const share = runtime.share("a", 1_000_000);
  share.hold(300);
  share.count(900);
  expect(runtime.held).toBe(1200);
  share.end();
  share.giveBack(100);
  share.count(50);
  expect(runtime.held).toBe(0);
});

test("what the process holds in common counts in each runtime, and is at most a sixteenth of the smallest", () => {
  const runtime = heldWithin(1600);
  expect(heldInCommon.allowed).toBeLessThanOrEqual(100);
  heldInCommon.bytes = 60;
  expect([runtime.held, runtime.free]).toEqual([60, 1540]);
  heldInCommon.bytes = 1000;
  expect([runtime.held, runtime.free]).toEqual([100, 1500]);
});
