import { expect, test } from "vitest";
import { leftOut, nameClashes } from "../../src/sources/name-clashes.ts";

const clashes = (...names: readonly string[]) => {
  const named = names.map((name) => ({ name }));
  return [...nameClashes(named)].map(([one, other]) => [named.indexOf(one), named.indexOf(other)]);
};

test("two of the same name clash with each other", () => {
  expect(clashes("pay", "buy", "pay")).toEqual([
    [0, 2],
    [2, 0],
  ]);
});

test("a name clashes with one that would be its namespace, and that one with it", () => {
  expect(clashes("shop.pay", "shop", "shops.pay")).toEqual([
    [0, 1],
    [1, 0],
  ]);
});

test("names that no tool can have, and others, clash with nothing", () => {
  expect(clashes("no tool", "no tool", "shop.pay", "shop.buy")).toEqual([]);
});

test("why a tool is left out is one line, whatever the source wrote", () => {
  expect(leftOut("pay\n", "its schema is no schema.")).not.toContain("\n");
  expect(leftOut("x".repeat(10_000), "too long").length).toBeLessThan(600);
});
