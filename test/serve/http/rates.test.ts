import { expect, test } from "vitest";
import { Rates } from "../../../src/serve/http/rates.ts";
import { manualClock } from "../../support/clock.ts";

test("a key makes as many requests at once as its rate has, the next ones one by one, and none for another key", () => {
  const clock = manualClock();
  const rates = new Rates();
  const rate = { calls: 2, perMs: 10_000 };
  const take = (key: string) => rates.take(key, rate);
  expect([take("a"), take("a"), take("a")]).toEqual([undefined, undefined, 5]);
  expect(take("b")).toBe(undefined);
  clock.pass(4000);
  expect(take("a")).toBe(1);
  clock.pass(1000);
  expect([take("a"), take("a")]).toEqual([undefined, 5]);
  clock.pass(1_000_000);
  expect([take("a"), take("a"), take("a")]).toEqual([undefined, undefined, 5]);
});

test("how a key stands is told without taking a request of it", () => {
  const clock = manualClock();
  const rates = new Rates();
  const rate = { calls: 4, perMs: 8000 };
  const left = () => rates.left("a", rate);
  expect(left()).toEqual({ limit: 4, remaining: 4, resetMs: 0 });
  for (let count = 0; count < 3; count += 1) rates.take("a", rate);
  clock.pass(1000);
  for (let times = 0; times < 2; times += 1) expect(left()).toEqual({ limit: 4, remaining: 1, resetMs: 5000 });
  clock.pass(1000);
  expect(left()).toEqual({ limit: 4, remaining: 2, resetMs: 4000 });
  clock.pass(1_000_000);
  expect(left()).toEqual({ limit: 4, remaining: 4, resetMs: 0 });
});
