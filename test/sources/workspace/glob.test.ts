import * as fc from "fast-check";
import { expect, test } from "vitest";
import { PatternRefused } from "../../../src/tools/json-schema/patterns/parse-pattern.ts";
import { Glob } from "../../../src/sources/workspace/glob.ts";
import { runs } from "../../support/all-tests.ts";

test.each([
  ["*.ts", ["a.ts", "src/a.ts", "src/b/a.ts", ".ts"], ["a.tsx", "a.ts/b", "ats"]],
  ["src/*.ts", ["src/a.ts"], ["a.ts", "src/b/a.ts", "x/src/a.ts"]],
  ["src/**/*.ts", ["src/a.ts", "src/b/c/a.ts"], ["a.ts", "srcs/a.ts"]],
  ["**/test/*", ["test/a", "x/test/a"], ["test/a/b", "xtest/a"]],
  ["docs/**", ["docs/a", "docs/b/c"], ["docs", "a/docs/b"]],
  ["*.{ts,tsx}", ["a.ts", "b/a.tsx"], ["a.js", "a.{ts,tsx}"]],
  ["{a,b{c,d}}", ["a", "bc", "x/bd"], ["b", "bcd"]],
  ["[id].js", ["[id].js", "pages/[id].js"], ["i.js", "d.js"]],
  ["a?c", ["abc", "a.c"], ["ac", "a/c"]],
  ["a+(b)$", ["a+(b)$"], ["aab"]],
  ["dist/", ["dist", "x/dist"], ["dist/a"]],
  ["./src/a.ts", ["src/a.ts"], ["x/src/a.ts"]],
])("%s", (pattern, yes, no) => {
  const glob = new Glob(pattern);
  expect([...yes, ...no].filter((path) => glob.matches(path))).toEqual(yes);
});

test("a pattern that cannot be read is refused", () => {
  expect(() => new Glob("{a,b")).toThrow(new PatternRefused("has a { without its }"));
  expect(() => new Glob("a".repeat(1001))).toThrow(new PatternRefused("has more than 1000 characters"));
});

test("of a path at which a pattern is too costly it is not known whether the pattern fits", () => {
  const costly = new Glob(`${"{a,b*}".repeat(100)}c`);
  expect([costly.matches("b".repeat(4000)), costly.covers("b".repeat(4000))]).toEqual([undefined, undefined]);
});

test("a pattern covers what it fits and what is below, and nothing else", () => {
  const part = fc.stringMatching(/^[ab.]{1,3}$/);
  const path = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("/"));
  const pattern = fc.stringMatching(/^(?:[ab.?]|\*\*?\/?|\{a,b[*]?\}|b\/){1,6}$/);
  fc.assert(
    fc.property(pattern, path, (source, whole) => {
      fc.pre(source.replace(/^\.?\/|\/$/g, "") !== "");
      const glob = new Glob(source);
      const parts = whole.split("/");
      const above = parts.map((_, index) => parts.slice(0, index + 1).join("/"));
      expect(glob.covers(whole)).toBe(above.some((one) => glob.matches(one)));
    }),
    { numRuns: runs(2000) },
  );
});
