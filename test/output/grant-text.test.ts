import { expect, test } from "vitest";
import { grantText } from "../../src/output/grant-text.ts";

const noon = new Date(2026, 10, 26, 12, 0).getTime();
const at = (...time: [number, number, number, number, number]) => new Date(...time).getTime();

test.each([
  [
    { calls: 19, sums: { "/amount": 500 }, untilMs: at(2026, 10, 26, 18, 0) },
    "orders.refund",
    "19 more calls of orders.refund with at most 500 of amount in all, until 18:00",
  ],
  [{ calls: 1 }, "pay", "1 more call of pay"],
  [
    { sums: { "/order/amount": 1234.5, "/n": 3 } },
    undefined,
    "any number of calls with at most 1,234.5 of order.amount in all and at most 3 of n in all",
  ],
  [{ untilMs: at(2026, 10, 27, 9, 5) }, undefined, "any number of calls, until 2026-11-27 09:05"],
])("%j is said as a person says it", (grant, tool, text) => {
  expect(grantText(grant, noon, tool)).toBe(text);
});
