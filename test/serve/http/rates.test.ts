import { expect, test } from "vitest";
import { Rates } from "../../../src/serve/http/rates.ts";

test("a key makes as many requests at once as its rate has, the next ones one by one, and none for another key", () => {
  const rates = new Rates();
  const rate = { calls: 2, perMs: 10_000 };
  expect([0, 0, 0].map((now) => rates.take("a", rate, now))).toEqual([undefined, undefined, 5]);
  expect(rates.take("b", rate, 0)).toBe(undefined);
  expect([4000, 5000, 5000].map((now) => rates.take("a", rate, now))).toEqual([1, undefined, 5]);
  const muchLater = 1_000_000;
  expect([muchLater, muchLater, muchLater].map((now) => rates.take("a", rate, now))).toEqual([undefined, undefined, 5]);
});

test("how a key stands is told without taking a request of it", () => {
  const rates = new Rates();
  const rate = { calls: 4, perMs: 8000 };
  expect(rates.left("a", rate, 0)).toEqual({ limit: 4, remaining: 4, resetMs: 0 });
  for (let count = 0; count < 3; count += 1) rates.take("a", rate, 0);
  for (let times = 0; times < 2; times += 1)
    expect(rates.left("a", rate, 1000)).toEqual({ limit: 4, remaining: 1, resetMs: 5000 });
  expect(rates.left("a", rate, 2000)).toEqual({ limit: 4, remaining: 2, resetMs: 4000 });
  expect(rates.left("a", rate, 1_000_000)).toEqual({ limit: 4, remaining: 4, resetMs: 0 });
});
