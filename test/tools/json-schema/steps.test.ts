import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { heldWithin, heldInCommon, PortcullisError } from "../../../src/base/index.ts";
import { compileSchema } from "../../../src/tools/json-schema/compile-schema.ts";
import { evaluate } from "../../../src/tools/json-schema/evaluate.ts";
import type { JsonSchema } from "../../../src/tools/json-schema/json-schema.ts";
import { jsonSchema, lazySchema, type Schema, storedSchema, validate } from "../../../src/tools/schema.ts";
import { runs } from "../../support/all-tests.ts";
import { madeExpressions, PROPERTY } from "../../support/made-expressions.ts";
import { nothingInCommon } from "../../support/nothing-in-common.ts";

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
  allOf: [{ allOf: parts(() => ({})) }, 1],
  anyOf: [{ anyOf: [...parts(() => false), true] }, 1],
  oneOf: [{ oneOf: [...parts(() => false), true] }, 1],
  multipleOf: [{ anyOf: [...Array.from({ length: 5 }, () => ({ multipleOf: 1.1e-300 })), true] }, 1e300],
  pattern: [{ not: { pattern: `^(?:a?b?){${PARTS * 2}}c` } }, "a"],
  "a format": [{ format: "uri-reference" }, "a".repeat(PARTS * 8)],
  "a long constant": [{ not: { const: `${"a".repeat(PARTS * 64)}b` } }, `${"a".repeat(PARTS * 64)}c`],
  "the digits of a long number": [{ type: "integer", not: { const: 1 } }, "9".repeat(1024)],
  "the format of regular expressions": [{ format: "regex" }, "\\p{L}".repeat(PARTS / 40)],
};

test.each(Object.entries(WORDS))("each part of a schema costs a step for each value: %s", (_, [schema, value]) => {
  const compiled = compileSchema({ items: schema });
  const values = Array.from({ length: 100 }, () => structuredClone(value));
  expect(evaluate(compiled, values)).toBeUndefined();
  expect(evaluate(compiled, values, PARTS * 90)?.last.message()).toContain("takes too long");
});

test("alternatives that are true or false count among the parts that are looked at for the digits of a value", () => {
  let reads = 0;
  const alternatives = Array.from({ length: 9000 }, () => true);
  const items = {
    get anyOf() {
      reads += 1;
      return alternatives;
    },
  };
  const compiled = compileSchema({ items });
  reads = 0;
  expect(evaluate(compiled, ["12345678901234567890", ...parts((index) => index)])).toBeUndefined();
  expect(reads).toBeGreaterThan(1);
  expect(reads * alternatives.length).toBeLessThanOrEqual(1_000_000 + alternatives.length);
});

test("the digits of a long number are written only for a part of the schema that names values", () => {
  const compiled = compileSchema({ type: "integer", allOf: [...parts(() => ({ minimum: 1 })), { not: { const: 1 } }] });
  let written = 0;
  const write = String;
  vi.stubGlobal("String", (value: unknown) => {
    if (typeof value === "bigint") written += 1;
    return write(value);
  });
  try {
    evaluate(compiled, "9".repeat(1024));
  } finally {
    vi.unstubAllGlobals();
  }
  expect(written).toBe(1);
});

test("a schema whose patterns together have too many states to be held is refused when it is defined", () => {
  const schema = { allOf: parts((index) => ({ pattern: `${index}(?:ab){50}` })) };
  expect(() => jsonSchema(schema)).toThrow(
    "/pattern has, together with the patterns before it, more states than one schema may have.",
  );
});

/** Schemas in which every place that can hold a pattern holds one, in each of the forms that patterns are multiplied by. */
const pattern = fc
  .tuple(
    fc.constantFrom("a", "(?:ab)", "[\\p{L}\\P{Script=Greek}x]", "\\P{L}", "(?=a)", "(a|b)", "(?<x>a)\\k<x>", "("),
    fc.constantFrom("", "{90}", "{1,98}", "*", "{99999}"),
    fc.integer({ min: 1, max: 40 }),
    fc.string({ maxLength: 3 }),
  )
  .map(([part, often, times, end]) => (part + often).repeat(times) + end);
const hostile = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    fc.record({ pattern }),
    fc.record({ format: fc.constant("regex") }),
    fc.dictionary(pattern, tie("any"), { maxKeys: 4 }).map((patternProperties) => ({ patternProperties })),
    fc.record({ propertyNames: tie("any"), items: tie("any") }),
    fc.array(tie("any"), { minLength: 1, maxLength: 6 }).map((anyOf) => ({ anyOf })),
    fc.dictionary(fc.string(), tie("any"), { maxKeys: 6 }).map((properties) => ({ properties })),
  ),
})).any as fc.Arbitrary<JsonSchema>;
/** Each pattern has fewer states than one may have. */
const TOGETHER_TOO_MANY = { anyOf: parts((index) => ({ pattern: `${index}${"a".repeat(1900)}` })).slice(0, 15) };
const given = fc.oneof(pattern, fc.jsonValue({ maxDepth: 2 }));

test("no schema has more states than are allowed, nor gives a pattern to the engine, by itself or by a value", () => {
  fc.assert(
    fc.property(hostile, given, (schema, value) => {
      const expressions = madeExpressions(() => {
        try {
          const compiled = compileSchema(schema);
          expect(compiled.states).toBeLessThanOrEqual(20_000);
          evaluate(compiled, value, 10_000);
          void validate(storedSchema(schema), value);
        } catch (error) {
          if (!PortcullisError.is(error)) throw error;
        }
      });
      expect(expressions.filter((expression) => !PROPERTY.test(expression))).toEqual([]);
    }),
    { numRuns: runs(200), examples: [[TOGETHER_TOO_MANY, "a"]] },
  );
});

test.each<[string, (schema: JsonSchema, onMade: () => void) => Schema]>([
  ["that clients have sent", (schema) => storedSchema(schema)],
  [
    "of sources",
    (schema, onMade) =>
      lazySchema(
        () => {
          onMade();
          return schema;
        },
        { identify: () => JSON.stringify(schema) },
      ),
  ],
])(
  "what schemas %s take compiled counts in a runtime's memory, and is a sixteenth of it at most, however many they are",
  (of, made) => {
    nothingInCommon();
    const { held } = heldWithin(16 * 1_000_000);
    // Equal schemas are compiled once, whoever has them.
    const own = of === "of sources" ? "s" : "c";
    const schemaOf = (index: number): JsonSchema => ({
      properties: { a: { pattern: `^(?:a${own}${index}?){300}$` } },
    });
    let compiled = 0;
    const all = Array.from({ length: 100 }, (_, index) => {
      const schema = made(schemaOf(index), () => (compiled += 1));
      expect(validate(schema, { a: "b" })).toMatchObject({ ok: false });
      expect(heldInCommon.bytes).not.toBe(0);
      expect(heldInCommon.bytes).toBeLessThanOrEqual(Math.min(1_000_000, heldInCommon.allowed));
      return schema;
    });
    expect(held).toBeLessThanOrEqual(1_000_000);
    for (const schema of all) {
      expect(validate(schema, { a: "b" })).toMatchObject({ ok: false });
      expect(heldInCommon.bytes).toBeLessThanOrEqual(heldInCommon.allowed);
    }
    // What was driven out is made again, and is nowhere else.
    if (of === "of sources") expect(compiled).toBe(200);
    const { allowed } = heldWithin(16 * 1000);
    expect(
      validate(
        made(schemaOf(100), () => {}),
        { a: "b" },
      ),
    ).toMatchObject({ ok: false });
    expect(heldInCommon.bytes).toBeLessThanOrEqual(allowed / 16);
  },
);

const $defs = fields(() => ({ allOf: [{ minimum: -1 }] }));
const refs = Object.keys($defs).map((name) => ({ $ref: `#/$defs/${name}` }));
const OUTCOMES = PARTS * 10;

test.each<[string, JsonSchema, (index: number) => unknown, number]>([
  ["an outcome", { items: { allOf: [{ allOf: refs }, { allOf: refs }] }, $defs }, (index) => index, 16],
  [
    "a fault",
    { items: { anyOf: [{ anyOf: refs }, { anyOf: refs }, true] }, $defs: fields(() => ({ allOf: [{ minimum: 99 }] })) },
    (index) => index,
    64,
  ],
  [
    "the names that it has seen",
    {
      items: { allOf: refs, unevaluatedProperties: false, anyOf: refs },
      $defs: fields(() => ({ properties: fields(() => true) })),
    },
    () => Object.fromEntries(parts((index) => [`k${index}`, index])),
    16 + PARTS * 8,
  ],
])("what is remembered of a check costs the steps of its memory: %s", (_, schema, value, steps) => {
  const values = Array.from({ length: 10 }, (_, index) => value(index));
  const compiled = compileSchema(schema);
  expect(evaluate(compiled, values, OUTCOMES * steps * 10)).toBeUndefined();
  expect(evaluate(compiled, values, OUTCOMES * steps)?.last.message()).toContain("takes too long");
});

test("a long text is hashed only where an enumeration has one of its length, and hashing costs steps", () => {
  const [long, other] = ["x".repeat(20_000), "y".repeat(20_000)];
  const faultOf = (schema: JsonSchema) => evaluate(compileSchema(schema), long, PARTS * 50)?.last.message();
  expect(faultOf({ anyOf: parts(() => ({ enum: ["short", 1] })) })).toBe('expected "short" or 1');
  expect(faultOf({ anyOf: parts(() => ({ enum: [other] })) })).toContain("takes too long");
  const shared = { $defs: { a: { allOf: [{ type: "string" }] } }, allOf: parts(() => ({ $ref: "#/$defs/a" })) };
  expect(faultOf(shared)).toContain("takes too long");
});
