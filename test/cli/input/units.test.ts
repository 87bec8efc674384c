import { expect, test } from "vitest";
import { PortcullisError } from "../../../src/base/index.ts";
import { duration } from "../../../src/cli/input/units.ts";

const rule = { min: 0, max: 1e12, example: "an age like 30d" } as const;

test.each<[string, number]>([
  ["250ms", 250],
  ["1.5 s", 1500],
  ["5min", 300_000],
  ["12h", 43_200_000],
  ["30d", 2_592_000_000],
  ["50", 50_000],
])("the duration %s is %d ms", (text, ms) => {
  expect(duration({ ...rule, bare: "s" })("--drain", text)).toBe(ms);
});

test.each(["", "d", "tomorrow", "-1s", "5 parsecs", "5constructor", "1e999d", "1".repeat(100_000), "30"])(
  "the duration %j is refused by the name of its flag, where a unit is needed",
  (text) => {
    expect(() => duration(rule)("--older-than", text)).toThrow(PortcullisError);
    expect(() => duration(rule)("--older-than", text)).toThrow(
      /^--older-than: expected an age like 30d \(in ms, s, min/,
    );
  },
);
