import { expect, test } from "vitest";
import { parseLimit } from "../../../src/cli/input/units.ts";

test.each([
  ["memoryBytes=64MiB", 64 * 1024 ** 2],
  ["runningMs=2s", 2000],
  ["runningMs=1.001s", 1001],
  ["waitMs=3d", 3 * 86_400_000],
  ["calls=10_000", 10_000],
  ["calls=1e3", 1000],
])("%s is accepted", (text, value) => {
  expect(parseLimit(text)).toEqual({ name: text.split("=")[0], value });
});

test.each([
  ["runningMs=1MiB", 'There is no unit "MiB" for runningMs: use ms, s, min, h, d, or none.'],
  ["memoryBytes=5s", 'There is no unit "s" for memoryBytes: use B, KiB, MiB, GiB, or none.'],
  ["calls=5s", 'calls is a number without a unit, got the unit "s".'],
  [
    "memoryBytes=",
    'memoryBytes takes a whole number from 16777216 to 8589934592, in bytes or with a unit, like 64MiB, got "".',
  ],
])("%s is refused with a sentence", (text, sentence) => {
  expect(parseLimit(text)).toBe(sentence);
});

test.each(["calls=", "calls=1__0", "calls=1.2.3", "calls=x"])(
  "%s has no number, and its text is left to the rule of the limit",
  (text) => {
    expect(parseLimit(text)).toEqual({ name: "calls", value: text.slice("calls=".length) });
  },
);

test.each(["=5", "calls"])("%s is refused as no limit", (text) => {
  expect(parseLimit(text)).toBe(`Expected name=value, like memoryBytes=64MiB, got ${JSON.stringify(text)}.`);
});
