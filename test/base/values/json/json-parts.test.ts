import * as fc from "fast-check";
import { expect, test } from "vitest";
import { jsonInParts, JsonText } from "../../../../src/base/index.ts";

function written(value: unknown): { readonly text: string; readonly slices: number } {
  const work = jsonInParts(value);
  for (let slices = 1; ; slices += 1) {
    const { done, value: text } = work.next();
    if (done) return { text, slices };
  }
}

test("the text is that of JSON.stringify, for any plain data", () => {
  const long = fc.array(fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(undefined)), {
    maxLength: 300,
    size: "max",
  });
  const values = fc.oneof(
    fc.jsonValue(),
    long,
    fc.record({ a: long, b: fc.record({ c: long, d: fc.option(fc.string(), { nil: undefined }) }) }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("__proto__", "toJSON")), fc.constantFrom(1, null, undefined)),
  );
  fc.assert(
    fc.property(values, (value) => {
      expect(written(value).text).toBe(JSON.stringify(value));
    }),
  );
});

test("each long element of a list is written alone, and a JSON text as it is", () => {
  const input = new JsonText(` {"a": 1.0}`, { values: 2, type: "object" });
  const rows = [{ id: 1 }, { id: 2, text: "x".repeat(100_000) }, ["y".repeat(100_000)], "z".repeat(100_000)];
  const { text, slices } = written({ a: { b: { c: [...rows, { input }, 3] } } });
  expect(text).toBe(
    JSON.stringify({ a: { b: { c: [...rows, { input: 0 }, 3] } } }).replace(/(?<="input":)0/, input.text),
  );
  expect(slices).toBeGreaterThan(10);
});
