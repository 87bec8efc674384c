import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ExactSum } from "../../../src/gate/approve/grants.ts";

test("sums of decimal numbers are not rounded", () => {
  const sum = new ExactSum().add(0.1).add(0.1);
  expect(sum.fits(0.1, 0.3)).toBe(true);
  expect(sum.fits(0.1000001, 0.3)).toBe(false);
  expect(sum.leftOf(0.3)).toBe(0.1);
});

test("sums of cents are those of whole numbers, however they are ordered", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 10_000_000 }), { maxLength: 50 }),
      fc.nat(10_000_000),
      (cents, limit) => {
        const sum = new ExactSum();
        for (const one of cents) sum.add(one / 100);
        const total = cents.reduce((all, one) => all + one, 0);
        expect(sum.fits(0, limit / 100)).toBe(total <= limit);
        expect(sum.leftOf(limit / 100)).toBe((limit - total) / 100 + 0);
      },
    ),
  );
});

test.each([1e-300, 5e-324, 1.7976931348623157e308, 1e21, 123456789.12345679])(
  "a number of any size counts as it is written: %j",
  (amount) => {
    expect(new ExactSum().fits(amount, amount)).toBe(true);
    expect(new ExactSum().add(amount).fits(5e-324, amount)).toBe(false);
    expect(new ExactSum().add(amount).leftOf(amount)).toBe(0);
  },
);
