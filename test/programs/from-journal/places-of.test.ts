import { expect, test } from "vitest";
import { placesOf } from "../../../src/programs/from-journal/places-of.ts";

test("tools that run elsewhere are told with their places, whatever their names are", () => {
  const tool = (name: string, place?: string) => ({
    name,
    digest: "d",
    effect: "read" as const,
    ...(place === undefined ? {} : { place }),
  });
  const places = placesOf([tool("a"), tool("b", "client"), tool("__proto__", "mcp files")] as never);
  expect([...places]).toEqual([
    ["b", "client"],
    ["__proto__", "mcp files"],
  ]);
  expect(places.get("constructor")).toBeUndefined();
});
