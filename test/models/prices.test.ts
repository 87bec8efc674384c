import { describe, expect, test } from "vitest";
import { PRICES, priceOf, readPrices } from "../../src/models/prices.ts";

describe("prices", () => {
  test("the package's own table is dated, and every price says where it was read", () => {
    expect(readPrices(PRICES)).toEqual({ date: PRICES.date, models: PRICES.models });
    for (const { source } of Object.values(PRICES.models)) expect(source.length).toBeGreaterThan(20);
  });

  test.each(["constructor", "__proto__", "gpt-99"])(
    "there is no price for %s, and the error says how to give one",
    (model) => {
      expect(() => priceOf(PRICES, model)).toThrow("Pass a table that has it");
    },
  );

  test.each([
    [undefined, "prices.date"],
    [{ date: "yesterday", models: {} }, "prices.date"],
    [{ date: "2026-11-20" }, "prices.models"],
    [{ date: "2026-11-20", models: { a: null } }, 'prices.models["a"].input'],
    [{ date: "2026-11-20", models: { a: { input: 0, output: 1, cacheWrite: 1, cacheRead: 1 } } }, 'models["a"].input'],
    [
      { date: "2026-11-20", models: { a: { input: 1, output: -1, cacheWrite: 1, cacheRead: 1 } } },
      'models["a"].output',
    ],
    [{ date: "2026-11-20", models: { a: { input: 1, output: 1, cacheWrite: Infinity, cacheRead: 1 } } }, "cacheWrite"],
  ])("an invalid table is refused with what is wrong: %j", (table, field) => {
    expect(() => readPrices(table)).toThrow(field);
  });
});
