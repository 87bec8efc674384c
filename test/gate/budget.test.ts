import { expect, test } from "vitest";
import { Budget } from "../../src/gate/budget.ts";
import { ROOMY } from "./open-session.ts";

test("as many calls as are allowed may arrive, and the next one has no budget", () => {
  const budget = new Budget({ ...ROOMY, calls: 2 });
  for (const seen of [1, 2]) {
    budget.arrive();
    expect(budget.takeInput(1)).toBeUndefined();
    expect(budget.calls).toBe(seen);
  }
  budget.arrive();
  expect(budget.takeInput(1)).toEqual({ limit: "calls", allowed: 2, seen: 3 });
});

test("an input of exactly the allowed size passes, and one byte more does not", () => {
  const budget = new Budget({ ...ROOMY, inputBytes: 10 });
  expect(budget.takeInput(10)).toBeUndefined();
  expect(budget.takeInput(11)).toEqual({ limit: "inputBytes", allowed: 10, seen: 11 });
});

test("inputs and results are counted together up to the total, and what was refused is not", () => {
  const budget = new Budget({ ...ROOMY, totalBytes: 100 });
  expect(budget.takeInput(40)).toBeUndefined();
  expect(budget.takeResult(50)).toBeUndefined();
  expect(budget.takeInput(11)).toEqual({ limit: "totalBytes", allowed: 100, seen: 101 });
  expect(budget.takeResult(60)).toEqual({ limit: "totalBytes", allowed: 100, seen: 150 });
  expect(budget.takeInput(5)).toBeUndefined();
  expect(budget.takeResult(5)).toBeUndefined();
  expect(budget.takeResult(1)).toEqual({ limit: "totalBytes", allowed: 100, seen: 101 });
  expect(budget.resultBytes).toBe(55);
});

test("where several limits are in the way, calls come first, then the one input, then the total", () => {
  const budget = new Budget({ ...ROOMY, calls: 0, inputBytes: 5, totalBytes: 5 });
  expect(budget.takeInput(9)?.limit).toBe("inputBytes");
  budget.arrive();
  expect(budget.takeInput(9)?.limit).toBe("calls");
});

// ---- under another ---------------------------------------------------------------------------------------------

test("calls count against the budget above too, and its limit is in the way of both", () => {
  const above = new Budget({ ...ROOMY, calls: 2 });
  const [one, other] = [new Budget(ROOMY, above), new Budget(ROOMY, above)];
  one.arrive();
  other.arrive();
  expect(one.takeInput(1)).toBeUndefined();
  other.arrive();
  expect(other.takeInput(1)).toEqual({ limit: "calls", allowed: 2, seen: 3 });
  expect([one.calls, other.calls, above.calls]).toEqual([1, 2, 3]);
});

test("tokens count against all above, and the least that is left anywhere is left", () => {
  const above = new Budget(ROOMY, undefined, 100);
  const below = new Budget(ROOMY, above, 80);
  expect([above.tokensLeft, below.tokensLeft, new Budget(ROOMY).tokensLeft]).toEqual([
    100,
    80,
    Number.POSITIVE_INFINITY,
  ]);
  below.takeTokens({ inputTokens: 30, outputTokens: 20, cachedInputTokens: 10 });
  above.takeTokens({ inputTokens: 20, outputTokens: 10, cachedInputTokens: 5 });
  expect([above.tokensLeft, below.tokensLeft]).toEqual([20, 20]);
  expect(above.tokenUsage).toEqual({ inputTokens: 50, outputTokens: 30, cachedInputTokens: 15 });
});
