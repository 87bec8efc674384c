import { readdirSync, readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { describe, type ErrorCode, optionError, PortcullisError } from "../../src/base/index.ts";
import { ERROR_CODES } from "../../src/base/errors.ts";

const folder = new URL("../../src/", import.meta.url);
const sources = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
const made = sources.filter((path) => !/^cli\b|errors\.ts$/.test(path));
const source = made.map((path) => readFileSync(new URL(path, folder), "utf8")).join("\n");
const codes = Object.keys(ERROR_CODES) as ErrorCode[];

test("every code in the table is made somewhere, by its name", () => {
  expect(codes.filter((code) => !source.includes(`"${code}"`) && code !== "option_invalid")).toEqual([]);
});

test.each(codes)("the code %s is documented in whole sentences", (code) => {
  expect(ERROR_CODES[code]).toMatch(/^[A-Z][^]*\.$/);
});

test("an error has its code, its message, its cause and its name", () => {
  const cause = new Error("inner");
  const error = new PortcullisError("head_moved", "No.", { cause });
  expect(error).toBeInstanceOf(Error);
  expect([error.name, error.code, error.message, error.cause]).toEqual(["PortcullisError", "head_moved", "No.", cause]);
  expect(error.stack).toContain("errors.test.ts");
});

test("an error of another copy of this package is recognised, and nothing else is", async () => {
  vi.resetModules();
  const other = await import("../../src/base/errors.ts");
  const error = new other.PortcullisError("tool_failed", "No.");
  expect(error).not.toBeInstanceOf(PortcullisError);
  expect([PortcullisError.is(error), other.PortcullisError.is(new PortcullisError("head_moved", "No."))]).toEqual([
    true,
    true,
  ]);
  for (const value of [
    new Error("No."),
    { name: "PortcullisError", code: "head_moved" },
    null,
    undefined,
    "head_moved",
    () => {},
  ])
    expect(PortcullisError.is(value)).toBe(false);
});

test("a wrong option is told with its name, what was expected and what came", () => {
  const error = optionError("limits.calls", "a whole number", "many");
  expect([error.code, error.message]).toEqual(["option_invalid", 'limits.calls: expected a whole number, got "many".']);
});

const circular: unknown[] = [];
circular.push(circular);

test.each<[unknown, string]>([
  ["a\n", '"a\\n"'],
  ["x".repeat(60), `"${"x".repeat(60)}"`],
  ["x".repeat(61), "a string of 61 characters"],
  [5n, "5n"],
  [Number.NaN, "NaN"],
  [undefined, "undefined"],
  [null, "null"],
  [Symbol("a"), "Symbol(a)"],
  [() => {}, "a function"],
  [{ a: [1] }, '{"a":[1]}'],
  [{ a: "x".repeat(60) }, "an object"],
  [Array.from({ length: 60 }, () => 1), "an array of 60"],
  [circular, "an array of 1"],
  [{ a: 5n }, "an object"],
])("value %# is told in a message by its JSON where that is short, else by what it is", (value, text) => {
  expect(describe(value)).toBe(text);
});
