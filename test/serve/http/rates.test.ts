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
