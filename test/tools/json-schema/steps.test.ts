import { expect, test } from "vitest";
import { compileSchema } from "../../../src/tools/json-schema/compile-schema.ts";
import { evaluate } from "../../../src/tools/json-schema/evaluate.ts";
import type { JsonSchema } from "../../../src/tools/json-schema/json-schema.ts";
import { jsonSchema } from "../../../src/tools/schema.ts";

const PARTS = 200;
const parts = <Value>(make: (index: number) => Value): Value[] =>
  Array.from({ length: PARTS }, (_, index) => make(index));
const fields = (make: (index: number) => unknown) => Object.fromEntries(parts((index) => [`k${index}`, make(index)]));

/** For each word that a schema may say much with: a schema of many parts, and a value that all of them are gone through for. */
const WORDS: Readonly<Record<string, readonly [JsonSchema, unknown]>> = {
  type: [{ type: [...parts((index) => `t${index}`), "number"] }, 1],
  enum: [{ not: { enum: parts((index) => [index]) } }, {}],
  required: [{ required: parts(() => "a") }, { a: 1 }],
  properties: [{ properties: fields(() => true) }, {}],
  patternProperties: [{ patternProperties: fields(() => true) }, { a: 1 }],
  dependentRequired: [{ dependentRequired: fields(() => ["a"]) }, {}],
  dependentSchemas: [{ dependentSchemas: fields(() => false) }, {}],
  "dependencies that are names": [{ dependencies: fields(() => ["a"]) }, {}],
  "dependencies that are schemas": [{ dependencies: fields(() => false) }, {}],
  allOf: [{ allOf: parts(() => ({})) }, 1],
  anyOf: [{ anyOf: [...parts(() => false), true] }, 1],
  oneOf: [{ oneOf: [...parts(() => false), true] }, 1],
  multipleOf: [{ anyOf: [...Array.from({ length: 5 }, () => ({ multipleOf: 1.1e-300 })), true] }, 1e300],
  pattern: [{ not: { pattern: `^b(?:a|c){${PARTS * 16}}` } }, "a"],
  "a format": [{ format: "uri-reference" }, "a".repeat(PARTS * 8)],
  "the format of regular expressions": [{ format: "regex" }, "\\p{L}".repeat(PARTS / 100)],
};

test.each(Object.entries(WORDS))("each part of a schema costs a step for each value: %s", (_, [schema, value]) => {
  const compiled = compileSchema({ items: schema });
  const values = Array.from({ length: 100 }, () => structuredClone(value));
  expect(evaluate(compiled, values)).toBeUndefined();
  expect(evaluate(compiled, values, PARTS * 90)?.last.message()).toContain("takes too long");
});

test("a schema whose patterns together have too many states to be held is refused when it is defined", () => {
  const schema = { allOf: parts((index) => ({ pattern: `${index}a{4000}` })) };
  expect(() => jsonSchema(schema)).toThrow(
    "/pattern has, together with the patterns before it, more states than one schema may have.",
  );
});
