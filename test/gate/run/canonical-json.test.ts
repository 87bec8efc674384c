import * as fc from "fast-check";
import { expect, test } from "vitest";
import { wholly } from "../../../src/base/index.ts";
import { canonicalDigest } from "../../../src/gate/run/canonical-json.ts";

const digestOf = (json: string) => wholly(canonicalDigest(json));

/** The same value, with the fields of each object in the other order. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).toReversed();
  return Object.fromEntries(fields.map(([name, field]) => [name, turned(field)]));
}

const json = fc.jsonValue({ maxDepth: 4 }).filter((value) => !JSON.stringify(value).includes("__proto__"));

test("equal values have one digest, whatever the order of their fields and the spaces between them", () => {
  fc.assert(
    fc.property(json, (value) => {
      const expected = digestOf(JSON.stringify(value));
      expect(expected).toMatch(/^[0-9a-f]{64}$/);
      expect(digestOf(JSON.stringify(turned(value), null, 3))).toBe(expected);
    }),
  );
});

test.each([
  ["1.0", "1", true],
  ["1e2", "100", true],
  ["-0", "0", true],
  ['"\\u0041"', '"A"', true],
  ["1", '"1"', false],
  ["[1,[2]]", "[[1],2]", false],
  ['{"a":"b,c"}', '{"a":"b","c":""}', false],
  ["{}", "[]", false],
  ["null", '"null"', false],
])("whether %s is the same as %s: %s", (one, other, isSame) => {
  expect(digestOf(one) === digestOf(other)).toBe(isSame);
});

const NOT_READ = ["", "{", "undefined", "1e999", '{"__proto__":1}', "[".repeat(200) + "]".repeat(200)];

test.each([...NOT_READ, '{"a":1,"a":2}', "9007199254740993", "[1e400]"])(
  "%j, which is no input or says more than its value, is equal to nothing",
  (text) => {
    expect(digestOf(text)).toBeUndefined();
  },
);

test("a large value is read in slices", () => {
  const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `row ${id}` }));
  expect([...canonicalDigest(JSON.stringify(rows))].length).toBeGreaterThan(100);
});
