import { Option } from "commander";
import { expect, test } from "vitest";
import { PortcullisError } from "../../../src/base/index.ts";
import { durationOption, settings } from "../../../src/cli/input/option-values.ts";
import { SETTINGS_RULES } from "../../../src/models/setting-rules.ts";
import { LIMIT_RULES } from "../../../src/executions/limits.ts";

const rule = { min: 0, max: 1e12, example: "an age like 30d" } as const;

test.each<[string, number]>([
  ["250ms", 250],
  ["1.5 s", 1500],
  ["5min", 300_000],
  ["12h", 43_200_000],
  ["30d", 2_592_000_000],
  ["50", 50_000],
])("the duration %s is %d ms", (text, ms) => {
  expect(durationOption({ ...rule, bare: "s" })("--drain", text)).toBe(ms);
});

test.each(["", "d", "tomorrow", "-1s", "5 parsecs", "5constructor", "1e999d", "1".repeat(100_000), "30"])(
  "the duration %j is refused by the name of its flag, where a unit is needed",
  (text) => {
    expect(() => durationOption(rule)("--older-than", text)).toThrow(PortcullisError);
    expect(() => durationOption(rule)("--older-than", text)).toThrow(
      /^--older-than: expected an age like 30d \(in ms, s, min/,
    );
  },
);

const { parseArg } = settings("", { ...LIMIT_RULES, ...SETTINGS_RULES }).apply(new Option("--set <name=value>"));
const read = (text: string) => parseArg?.(text, {}) as object;

test.each([
  ["memoryBytes=64MiB", 64 * 1024 ** 2],
  ["cpuMs=2s", 2000],
  ["cpuMs=1.001s", 1001],
  ["waitMs=3d", 3 * 86_400_000],
  ["calls=10_000", 10_000],
  ["calls=1e3", 1000],
  ["parallelCalls=false", false],
  ["toolChoice=none", "none"],
  ['reasoning={"effort":"low"}', { effort: "low" }],
])("%s is accepted", (text, value) => {
  expect(read(text)).toEqual({ [text.split("=", 1)[0] ?? ""]: value });
});

test.each([
  ["cpuMs=1MiB", '--set cpuMs: expected a whole number from 10 to 3600000, got "1MiB".'],
  ["calls=5s", '--set calls: expected a whole number from 0 to 1000000, got "5s".'],
  ["memoryBytes=", '--set memoryBytes: expected a whole number from 16777216 to 8589934592, got "".'],
  ["calls=1__0", "--set calls: expected a whole number"],
  ["call=5", 'there is no option "call", did you mean calls?'],
  ["=5", '--set: expected name=value, like memoryBytes=5, got "=5".'],
  ["calls", "--set: expected name=value"],
])("%s is refused with a sentence", (text, sentence) => {
  expect(() => read(text)).toThrow(sentence);
});
