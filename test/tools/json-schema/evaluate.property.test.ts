import { Validator } from "@cfworker/json-schema";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { compileSchema } from "../../../src/tools/json-schema/compile-schema.ts";
import { currentDraft } from "../../../src/tools/json-schema/current-draft.ts";
import { evaluate } from "../../../src/tools/json-schema/evaluate.ts";
import type { JsonSchema } from "../../../src/tools/json-schema/json-schema.ts";
import { jsonSchema, validate } from "../../../src/tools/schema.ts";
import { runs } from "../../support/all-tests.ts";

const scalar = fc.constantFrom<unknown>(null, true, false, 0, -1, 2, 3.5, 6, "", "a", "ab", "abc", "b1", "2020-02-30");
const names = fc.constantFrom("a", "b", "ab", "c");
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie("any"), { maxLength: 4 }),
    fc.dictionary(names, tie("any"), { maxKeys: 4 }),
  ),
})).any;

const number = fc.constantFrom(0, 1, 2, 3);
const types = fc.constantFrom("string", "number", "integer", "boolean", "null", "array", "object");
const pattern = fc.constantFrom("^a", "b$", "^[a-b]+$", "\\d", "^(?!a)", "(a|b)c?$");

/** Put together from pairs, because an object with a `then` would be a promise's. */
function conditional(one: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc
    .tuple(one, one, one)
    .map((parts) => Object.fromEntries(["if", "then", "else"].map((word, index) => [word, parts[index]])));
}

/** Schemas of every word that does not read what others have looked at. */
const schema = fc.letrec((tie) => {
  const one = tie("any");
  const map = fc.dictionary(names, one, { maxKeys: 3 });
  const list = fc.array(one, { minLength: 1, maxLength: 3 });
  return {
    any: fc.oneof(
      { maxDepth: 4, depthIdentifier: "schema" },
      fc.boolean(),
      fc.constantFrom({ $ref: "#/$defs/one" }, { $ref: "#/$defs/two" }),
      fc.record({ type: fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 })) }),
      fc.record({ enum: fc.array(value, { minLength: 1, maxLength: 3 }) }),
      fc.record({ const: value }),
      fc.record(
        { minimum: number, exclusiveMaximum: number, multipleOf: fc.constantFrom(1, 2, 0.5) },
        { requiredKeys: [] },
      ),
      fc.record(
        { minLength: number, maxLength: number, pattern, format: fc.constantFrom("date", "email", "other") },
        { requiredKeys: [] },
      ),
      fc.record(
        {
          type: fc.constant("object"),
          properties: map,
          patternProperties: fc.dictionary(pattern, one, { maxKeys: 2 }),
          additionalProperties: one,
          propertyNames: one,
          required: fc.uniqueArray(names, { maxLength: 2 }),
          minProperties: number,
          maxProperties: number,
          dependentRequired: fc.dictionary(names, fc.uniqueArray(names), { maxKeys: 2 }),
          dependentSchemas: map,
          dependencies: fc.dictionary(names, fc.oneof(one, fc.uniqueArray(names)), { maxKeys: 2 }),
        },
        { requiredKeys: [] },
      ),
      fc.record(
        {
          prefixItems: list,
          items: one,
          contains: one,
          minContains: number,
          maxContains: number,
          minItems: number,
          maxItems: number,
          uniqueItems: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
      fc.record({ items: list, additionalItems: one }, { requiredKeys: ["items"] }),
      fc.record({ anyOf: list, allOf: list, oneOf: list, not: one }, { requiredKeys: [] }),
      conditional(one),
    ),
  };
}).any;

/** The root may refer to its parts, and they to the root from within fields. */
const rooted = fc.record({
  $defs: fc.record({
    one: fc.oneof(fc.record({ type: types }), fc.record({ properties: fc.constant({ a: { $ref: "#/$defs/two" } }) })),
    two: fc.record({ items: fc.constant({ $ref: "#/$defs/one" }), minLength: number }),
  }),
  allOf: fc.tuple(schema),
});

const ONE_OF = /^expected (?:(?:null|true|false)(?: or .*)?|[-\d"[{].*)$/;
const FIELD = /^the field "\w+" does not fit$/;
/** What is said of a value that does not fit, by the word of the schema that it does not fit. */
const SAID: Readonly<Record<string, RegExp>> = {
  $ref: /^it does not fit$/,
  type: /^expected (?:string|number|integer|boolean|null|array|object)(?: or \w+)*$/,
  enum: ONE_OF,
  const: ONE_OF,
  minimum: /^expected at least \d$/,
  exclusiveMaximum: /^expected less than \d$/,
  multipleOf: /^expected a multiple of [\d.]+$/,
  minLength: /^expected at least \d characters$/,
  maxLength: /^expected at most \d characters$/,
  pattern: /^expected text that matches "/,
  format: /^expected text in the format "/,
  required: /^the field "\w+" is missing$/,
  properties: FIELD,
  patternProperties: FIELD,
  additionalProperties: FIELD,
  propertyNames: /^the name "\w+" does not fit$/,
  minProperties: /^expected at least \d fields$/,
  maxProperties: /^expected at most \d fields$/,
  dependentRequired: /^beside the field "\w+" the field "\w+" is missing$/,
  dependentSchemas: /^it does not fit beside the field "\w+"$/,
  contains: /^expected at least 1 elements that fit the schema under "contains", and 0 do$/,
  minContains: /^expected at least \d elements that fit the schema under "contains", and \d do$/,
  maxContains: /^expected at most \d elements that fit the schema under "contains", and \d do$/,
  minItems: /^expected at least \d elements$/,
  maxItems: /^expected at most \d elements$/,
  uniqueItems: /^expected no two equal elements, and those at \d and \d are$/,
  allOf: /^it does not fit all parts of its schema$/,
  not: /^expected no value that fits the schema under "not"$/,
  if: /^it does not fit the schema under "(?:then|else)"$/,
};

/** Of choices is told that none fits; the other implementation goes on behind an element that has failed. */
const TOLD_OTHERWISE = new Set(["anyOf", "oneOf", "false", "prefixItems", "items", "additionalItems", "dependencies"]);

test("a value fits a schema where it does for another implementation, and the same is said where it does not", () => {
  fc.assert(
    fc.property(rooted, fc.array(value, { minLength: 1, maxLength: 5 }), (root, values) => {
      const own = jsonSchema(root as JsonSchema);
      const compiled = compileSchema(currentDraft(root));
      const other = new Validator(structuredClone(root) as object, "2020-12", true);
      for (const one of values) {
        const expected = other.validate(one);
        const found = validate(own, one) as Awaited<ReturnType<typeof validate>>;
        expect(found.ok).toBe(expected.valid);
        if (found.ok || expected.errors.some(({ keyword }) => TOLD_OTHERWISE.has(keyword))) continue;
        const word = expected.errors.at(-1)?.keyword ?? "";
        expect(SAID[word], word).toBeDefined();
        expect(evaluate(compiled, one)?.last.message()).toMatch(SAID[word] as RegExp);
      }
    }),
    { numRuns: runs(2000) },
  );
});
