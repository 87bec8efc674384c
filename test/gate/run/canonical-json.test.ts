import * as fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalDigest } from "../../../src/gate/run/canonical-json.ts";

function digestOf(json: string): string | undefined {
  const work = canonicalDigest(json);
  for (let step = work.next(); ; step = work.next()) if (step.done) return step.value;
}

/** The same value, with the fields of each object in the other order. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, field]) => [name, turned(field)]),
  );
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

test("different values have different digests", () => {
  const form = (value: unknown) => JSON.stringify(sorted(value));
  fc.assert(
    fc.property(json, json, (one, other) => {
      expect(digestOf(JSON.stringify(one)) === digestOf(JSON.stringify(other))).toBe(form(one) === form(other));
    }),
  );
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .map(([name, field]) => [name, sorted(field)] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .concat([["an object", true]]);
}

test.each([
  ["1.0", "1"],
  ["1e2", "100"],
  ["-0", "0"],
  ['"\\u0041"', '"A"'],
])("%s is what a handler reads as %s", (one, other) => {
  expect(digestOf(one)).toBe(digestOf(other));
});

test.each(['{"a":1,"a":2}', "9007199254740993", "[1e400]"])(
  "%s says more than its value, and is equal to nothing",
  (text) => {
    expect(digestOf(text)).toBeUndefined();
  },
);

test.each([
  ["1", '"1"'],
  ["[1,[2]]", "[[1],2]"],
  ['{"a":"b,c"}', '{"a":"b","c":""}'],
  ["{}", "[]"],
  ["null", '"null"'],
])("%s is not %s", (one, other) => {
  expect(digestOf(one)).not.toBe(digestOf(other));
});

test.each(["", "{", "undefined", "1e999", '{"__proto__":1}', "[".repeat(200) + "]".repeat(200)])(
  "%j has no digest: no call can have it as its input",
  (text) => {
    expect(digestOf(text)).toBeUndefined();
  },
);

test("a large value is read in slices", () => {
  const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `row ${id}` }));
  const work = canonicalDigest(JSON.stringify(rows));
  let slices = 0;
  for (let step = work.next(); !step.done; step = work.next()) slices += 1;
  expect(slices).toBeGreaterThan(100);
});
