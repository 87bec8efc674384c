import { expect, test } from "vitest";
import { DEFAULT_LIMITS, LIMIT_RULES, type Limits, resolveLimits } from "../../src/programs/limits.ts";

const NAMES = Object.keys(LIMIT_RULES) as (keyof Limits)[];

/** What these changes are refused with. */
function refusal(changes: unknown, option?: string): unknown {
  try {
    return resolveLimits(DEFAULT_LIMITS, changes as Partial<Limits>, option);
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    expect(code).toBe("option_invalid");
    return message;
  }
}

test.each(NAMES)("%s has a default within its bounds, and a reason in words", (name) => {
  const { default: usual, least, most, reason } = LIMIT_RULES[name];
  expect([least, usual, most].every(Number.isSafeInteger)).toBe(true);
  expect(least).toBeLessThanOrEqual(usual);
  expect(usual).toBeLessThanOrEqual(most);
  expect(reason).toMatch(/^[A-Z].+\.$/);
  expect(DEFAULT_LIMITS[name]).toBe(usual);
});

test.each(NAMES)("%s can be set to its bounds, and not past them", (name) => {
  const { least, most } = LIMIT_RULES[name];
  expect(resolveLimits(DEFAULT_LIMITS, { [name]: least })).toEqual({ ...DEFAULT_LIMITS, [name]: least });
  expect(resolveLimits(DEFAULT_LIMITS, { [name]: most })).toEqual({ ...DEFAULT_LIMITS, [name]: most });
  for (const value of [least - 1, most + 1])
    expect(refusal({ [name]: value })).toBe(
      `limits.${name}: expected a whole number from ${least} to ${most}, got ${value}.`,
    );
});

test.each([
  [-1, "-1"],
  [0.5, "0.5"],
  [1e99, "1e+99"],
  [Number.NaN, "NaN"],
  [Number.POSITIVE_INFINITY, "Infinity"],
  ["10", '"10"'],
  [10n, "10n"],
  [true, "true"],
  [null, "null"],
  [undefined, "undefined"],
  [[10], "[10]"],
])("calls cannot be %s", (value, got) => {
  expect(refusal({ calls: value })).toBe(`limits.calls: expected a whole number from 0 to 1000000, got ${got}.`);
});

test.each([
  ["call", "did you mean calls?"],
  ["memory", "did you mean memoryBytes?"],
  ["runningms", "did you mean runningMs?"],
  ["outputBites", "did you mean outputBytes?"],
])("there is no limit %s, and the one that was meant is named: %s", (name, meant) => {
  expect(refusal({ [name]: 1 })).toBe(
    `limits: there is no limit "${name}", ${meant} The limits are ${NAMES.join(", ")}.`,
  );
});

test("where no limit is near, all are named", () => {
  expect(refusal({ zzzzzzzzz: 1 })).toBe(`limits: there is no limit "zzzzzzzzz". The limits are ${NAMES.join(", ")}.`);
});

test.each(["toString", "__proto__", "constructor", "hasOwnProperty"])("there is no limit %s", (name) => {
  expect(refusal(JSON.parse(`{ "${name}": 1 }`))).toContain(`limits: there is no limit "${name}"`);
});

test.each([
  [null, "null"],
  [5, "5"],
  ["calls=5", '"calls=5"'],
])("limits cannot be %j", (changes, got) => {
  expect(refusal(changes)).toBe(`limits: expected an object, got ${got}.`);
});

test("a mistake is told under the name of the option it was made in", () => {
  expect(refusal({ calls: -1 }, "--limit")).toContain("--limit.calls: expected");
});

test("limits that are not changed stay, whatever the base, and none can be changed afterwards", () => {
  const base = resolveLimits(DEFAULT_LIMITS, { calls: 5, wallMs: 100 });
  const limits = resolveLimits(base, { calls: 6 });
  expect(limits).toEqual({ ...DEFAULT_LIMITS, calls: 6, wallMs: 100 });
  expect(resolveLimits(base, undefined)).toBe(base);
  expect([DEFAULT_LIMITS, base, limits].every(Object.isFrozen)).toBe(true);
});
