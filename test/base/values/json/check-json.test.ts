import { array, assert, constantFrom, json, nat, oneof, property, tuple } from "fast-check";
import { expect, test } from "vitest";
import { PLAIN_DEPTH, readPlainData } from "../../../../src/base/index.ts";
import { checkJson } from "../../../../src/base/values/json/check-json.ts";
import { runs } from "../../../support/all-tests.ts";

const isPlain = (text: string) => readPlainData(text).ok;

test("it accepts what parsing accepts, and nothing else", () => {
  const piece = constantFrom(
    ...'[]{},: \t\n"\\truefalsnl0123456789.-+eE'.split(""),
    '"a"',
    "null",
    '"__proto__"',
    '"\\u005f_proto__"',
    "1e999",
    "\\u00zz",
    "\u0001",
  );
  const text = oneof(
    json(),
    array(piece, { maxLength: 24 }).map((parts) => parts.join("")),
    // A valid text with one character changed.
    tuple(json(), nat(), piece).map(([json, at, one]) => {
      const place = at % (json.length + 1);
      return json.slice(0, place) + one + json.slice(place + 1);
    }),
  );
  assert(
    property(text, (one) => {
      expect(checkJson(one) === undefined).toBe(isPlain(one));
    }),
    { numRuns: runs(5000) },
  );
});

test.each([
  ["", "it is not JSON"],
  ['{"__proto__":1}', "it has a field called __proto__"],
  ['[{"\\u005f\\u005fproto__":1}]', "it has a field called __proto__"],
  ["[1e400]", "it holds a number that is too large"],
  [`${"[".repeat(PLAIN_DEPTH + 1)}${"]".repeat(PLAIN_DEPTH + 1)}`, "it is nested more than 100 levels deep"],
  ["1".repeat(2000), "it holds a number of more than 1024 characters"],
  ['"\\', "it is not JSON"],
  ['["a', "it is not JSON"],
  ['"a\nb"', "it is not JSON"],
])("%s: %s", (text, reason) => {
  expect(checkJson(text)).toBe(reason);
});
