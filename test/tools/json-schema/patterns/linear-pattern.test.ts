import * as fc from "fast-check";
import { expect, test } from "vitest";
import { LinearPattern } from "../../../../src/tools/json-schema/patterns/linear-pattern.ts";
import { isPattern, PatternRefused } from "../../../../src/tools/json-schema/patterns/parse-pattern.ts";
import { Steps } from "../../../../src/tools/json-schema/steps.ts";
import { runs } from "../../../support/all-tests.ts";
import { madeExpressions, PROPERTY } from "../../../support/made-expressions.ts";

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
const quantifier = fc.constantFrom(
  "*",
  "+",
  "?",
  "*?",
  "{0}",
  "{2}",
  "{1,}",
  "{0,2}",
  "{1,3}?",
  "{3}",
  "{2,3}",
  "{2,}",
);
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
  .array(fc.constantFrom("a", "b", "é", "😀", "\ud83d", "\n", " ", "1", ".", "-", "]"), { maxLength: 8 })
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

/** Bits of patterns that are well put together, and bits that are not. */
const bits = fc
  .array(
    fc.constantFrom(
      ..."a b ( ) (?: (?= (?! (?<= (?<! (?<a> (?<b> (?i: (?-s: (?i-: (?x: (? [ ] [^ - | * + ? {2} {2,} {2,1} {,2} { } ^ $ . / , 0".split(
        " ",
      ),
      ..."\\ \\b \\B \\d \\W \\n \\0 \\00 \\1 \\2 \\k \\k<a> \\k<c> \\c \\cA \\x6 \\x61 \\u006 \\u0061 \\u{61} \\u{110000} \\ud83d \\ude00 \\- \\/ \\_ \\p \\p{L} \\P{Lu} \\p{Script=Greek} \\p{sc=L} \\p{Nope} 😀".split(
        " ",
      ),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(""));

test("what is no regular expression is known as such, as the engine knows it", () => {
  const isNative = (pattern: string) => {
    try {
      return new RegExp(pattern, "u") instanceof RegExp;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(bits, (pattern) => {
      // The engine refuses a name that two groups of one alternative have, which is read here.
      fc.pre(!/\(\?<([ab])>.*\(\?<\1>/.test(pattern));
      expect([pattern, isPattern(pattern)]).toEqual([pattern, isNative(pattern)]);
    }),
    { numRuns: runs(5000) },
  );
});

const count = fc.constantFrom(0, 1, 2, 30, 98, 1000, 2_000_000_000, "9".repeat(400));
const hungryQuantifier = fc.oneof(
  quantifier,
  fc.tuple(count, fc.constantFrom("", ","), fc.constant("")).map(([least, more]) => `{${least}${more}}`),
  count.map((most) => `{0,${most}}`),
);
const hungry = fc.letrec<{ any: string }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 6, depthSize: "medium" },
    one,
    fc.constantFrom("[\\p{L}\\P{Script=Greek}a-z]", "\\P{L}", "[\\d\\D]"),
    fc
      .tuple(tie("any"), fc.integer({ min: 1, max: 500 }))
      .map(([part, times]) => part.repeat(Math.min(times, Math.ceil(4200 / part.length)))),
    fc.tuple(tie("any"), hungryQuantifier).map(([part, often]) => `(?:${part})${often}`),
    fc.tuple(fc.constantFrom("?=", "?!", "?<=", "?<!"), tie("any")).map(([look, part]) => `(${look}${part})`),
    fc.tuple(tie("any"), tie("any")).map(([first, second]) => `(${first}|${second})`),
  ),
})).any;

test("no pattern has more states than are allowed, costs more than its steps, or is given to the engine", () => {
  fc.assert(
    fc.property(hungry, text, (pattern, of) => {
      const expressions = madeExpressions(() => {
        try {
          const made = new LinearPattern(pattern);
          expect(made.states).toBeLessThanOrEqual(2000);
          made.test(of, new Steps(made.states * (of.length + 2) * 20));
        } catch (error) {
          if (!(error instanceof PatternRefused)) throw error;
        }
      });
      expect(expressions.filter((expression) => !PROPERTY.test(expression))).toEqual([]);
    }),
    { numRuns: runs(1000) },
  );
});

test.each([
  ["^(?:a{1,98}){1,98}$", 200],
  ["^a{1000000000}$", 4],
  ["^(?:a{1,1000000000}b?){2}$", 10],
])("a repetition of one character is a counter: %s has %i states", (pattern, states) => {
  expect(new LinearPattern(pattern).states).toBe(states);
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
  ["(a{1000}){1000}", "has more than 2000 states"],
  ["(?:(?:){1000000}){1000000}", "has more than 2000 states"],
  ["(", "not an ECMAScript regular expression"],
  [`[${"ab".repeat(1500)}]`, "has more than 2000 states"],
  [Array.from({ length: 40 }, (_, at) => `[\\p{L}${at}]`).join(""), "2000 states"],
  ["()".repeat(2048), "has more than 2000 states"],
  ["a".repeat(4097), "has 4097 characters"],
  [`${"(".repeat(200)}a${")".repeat(200)}`, "nested groups"],
])("%s is refused, and it is said why", (pattern, why) => {
  expect(() => new LinearPattern(pattern)).toThrow(PatternRefused);
  expect(() => new LinearPattern(pattern)).toThrow(why);
});
