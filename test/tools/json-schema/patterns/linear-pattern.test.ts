import * as fc from "fast-check";
import { expect, test } from "vitest";
import { LinearPattern } from "../../../../src/tools/json-schema/patterns/linear-pattern.ts";
import { PatternRefused } from "../../../../src/tools/json-schema/patterns/parse-pattern.ts";
import { Steps } from "../../../../src/tools/json-schema/steps.ts";
import { runs } from "../../../support/all-tests.ts";

function isFound(source: string, text: string): boolean {
  return new LinearPattern(source).test(text, new Steps(1_000_000));
}

const one = fc.constantFrom(
  "a",
  "b",
  "é",
  "😀",
  ".",
  "[ab]",
  "[^a]",
  "[\\]a]",
  "\\d",
  "\\w",
  "\\s",
  "\\p{L}",
  "\\u{1F600}",
  "\\ud83d\\ude00",
  "\\u0061",
  "\\x62",
  "\\n",
  "\\.",
  "^",
  "$",
  "\\b",
  "\\B",
  "-",
);
const quantifier = fc.constantFrom("*", "+", "?", "*?", "{0}", "{2}", "{1,}", "{0,2}", "{1,3}?");
const source = fc.letrec<{ any: string }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    one,
    fc.tuple(tie("any"), tie("any")).map(([first, second]) => first + second),
    fc.tuple(tie("any"), tie("any")).map(([first, second]) => `(?:${first}|${second})`),
    fc.tuple(tie("any"), quantifier).map(([part, often]) => `(${part})${often}`),
    fc.constantFrom("a+", "b*", "[ab]{2}", "😀?"),
    fc.tuple(fc.constantFrom("?=", "?!", "?<=", "?<!"), tie("any")).map(([look, part]) => `(${look}${part})`),
  ),
})).any;
const text = fc
  .array(fc.constantFrom("a", "b", "é", "😀", "\ud83d", "\n", " ", "1", ".", "-", "]"), { maxLength: 6 })
  .map((characters) => characters.join(""));

/** V8 tries what may match nothing between the two halves of a character too, which the standard does not. */
function isReadAlike(pattern: string): (text: string) => boolean {
  const mayStandBetween = /\(\?<?[=!]|\\[bB]|[?*|{^$]/.test(pattern);
  return (text) => !mayStandBetween || !/[\u{10000}-\u{10ffff}]|\ud83d/u.test(text);
}

test("a pattern is found in a text where the engine's own finds it", () => {
  fc.assert(
    fc.property(source, fc.array(text, { minLength: 1, maxLength: 8 }), (pattern, texts) => {
      const own = new LinearPattern(pattern);
      const native = new RegExp(pattern, "u");
      for (const one of texts.filter(isReadAlike(pattern)))
        expect(own.test(one, new Steps(1_000_000))).toBe(native.test(one));
    }),
    { numRuns: runs(2000) },
  );
});

/** Of zod 4, as its schemas say it. */
const EMAIL = "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$";

test.each([
  [EMAIL, "a.b@example.com", true],
  [EMAIL, "a..b@example.com", false],
  [EMAIL, ".a@example.com", false],
  ["^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", "123e4567-e89b-12d3-a456-426614174000", true],
  ["^(?=.*[A-Z])(?=.*\\d).{8,}$", "passWord1", true],
  ["^(?=.*[A-Z])(?=.*\\d).{8,}$", "password1", false],
  ["(?<=\\$)\\d+", "costs $12", true],
  ["(?<=\\$)\\d+", "costs 12", false],
  ["^.{1,5000}$", "x".repeat(5000), true],
  ["^.{1,5000}$", "x".repeat(5001), false],
  ["", "", true],
  ["^(?<name>a)(?:b)$", "ab", true],
])("%s in %s: %s", (pattern, of, expected) => {
  expect(isFound(pattern, of)).toBe(expected);
});

test.each([
  ["(a)\\1", "refers back"],
  ["(?<x>a)\\k<x>", "refers back"],
  ["(?i:a)", "changes flags"],
  ["(a{1000}){1000}", "repeats so often"],
  ["(?:(?:){1000000}){1000000}", "repeats so often"],
  ["(", "not an ECMAScript regular expression"],
  [`${"(".repeat(200)}a${")".repeat(200)}`, "nested groups"],
])("%s is refused, and it is said why", (pattern, why) => {
  expect(() => new LinearPattern(pattern)).toThrow(PatternRefused);
  expect(() => new LinearPattern(pattern)).toThrow(why);
});
