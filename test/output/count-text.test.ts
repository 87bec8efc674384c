import { expect, test } from "vitest";
import { count, counted } from "../../src/output/count-text.ts";

test("numbers for people have thousands apart, and the noun agrees with them", () => {
  expect([count(0), count(999), count(1_234_567)]).toEqual(["0", "999", "1,234,567"]);
  expect([counted(0, "call"), counted(1, "call"), counted(1000, "call")]).toEqual(["0 calls", "1 call", "1,000 calls"]);
});
