import { expect, test } from "vitest";
import { Budget } from "../../../src/gate/admit/budget.ts";
import { ROOMY } from "../open-session.ts";

test("up to `calls` calls are accepted, and the next one is refused", () => {
  const budget = new Budget({ ...ROOMY, calls: 2 });
  for (const seen of [1, 2]) {
    budget.arrive();
    expect(budget.takeInput(1)).toBeUndefined();
    expect(budget.calls).toBe(seen);
  }
  budget.arrive();
  expect(budget.takeInput(1)).toEqual({ limit: "calls", allowed: 2, seen: 3 });
});

test("an input of exactly inputBytes is accepted, and one byte more is refused", () => {
  const budget = new Budget({ ...ROOMY, inputBytes: 10 });
  expect(budget.takeInput(10)).toBeUndefined();
  expect(budget.takeInput(11)).toEqual({ limit: "inputBytes", allowed: 10, seen: 11 });
});

test("inputs and results count together against totalBytes, refused ones do not", () => {
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

test("if a call exceeds several limits, calls is reported first, then inputBytes, then totalBytes", () => {
  const budget = new Budget({ ...ROOMY, calls: 0, inputBytes: 5, totalBytes: 5 });
  expect(budget.takeInput(9)?.limit).toBe("inputBytes");
  budget.arrive();
  expect(budget.takeInput(9)?.limit).toBe("calls");
});

// ---- under another ---------------------------------------------------------------------------------------------

test("calls also count against the parent's budget, and its limit applies to both", () => {
  const above = new Budget({ ...ROOMY, calls: 2 });
  const [one, other] = [new Budget(ROOMY, above), new Budget(ROOMY, above)];
  one.arrive();
  other.arrive();
  expect(one.takeInput(1)).toBeUndefined();
  other.arrive();
  expect(other.takeInput(1)).toEqual({ limit: "calls", allowed: 2, seen: 3 });
  expect([one.calls, other.calls, above.calls]).toEqual([1, 2, 3]);
});

test("tokens count against all parent budgets, and the smallest remainder applies", () => {
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
