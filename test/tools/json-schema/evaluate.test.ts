import { expect, test } from "vitest";
import type { JsonSchema } from "../../../src/tools/json-schema/json-schema.ts";
import { jsonSchema, validate } from "../../../src/tools/schema.ts";

function fits(schema: JsonSchema, value: unknown): boolean {
  return (validate(jsonSchema(schema), value) as Awaited<ReturnType<typeof validate>>).ok;
}

const a = { properties: { a: { type: "string" } } };
const b = { properties: { b: true }, required: ["b"] };

test.each<[JsonSchema, unknown, boolean]>([
  [{ ...a, unevaluatedProperties: false }, { a: "x" }, true],
  [{ ...a, unevaluatedProperties: false }, { a: "x", c: 1 }, false],
  [{ allOf: [a], unevaluatedProperties: false }, { a: "x" }, true],
  [{ allOf: [a], unevaluatedProperties: { type: "number" } }, { a: "x", c: 1 }, true],
  [{ allOf: [a], unevaluatedProperties: { type: "number" } }, { a: "x", c: "1" }, false],
  [{ anyOf: [a, b], unevaluatedProperties: false }, { a: "x", b: 1 }, true],
  [{ anyOf: [a, b], unevaluatedProperties: false }, { a: 1, b: 1 }, false],
  [{ $ref: "#/$defs/a", $defs: { a }, unevaluatedProperties: false }, { a: "x" }, true],
  [{ $ref: "#/$defs/a", $defs: { a }, unevaluatedProperties: false }, { c: 1 }, false],
  [{ if: b, ...a, unevaluatedProperties: false }, { a: "x", b: 1 }, true],
  [{ if: b, ...a, unevaluatedProperties: false }, { a: "x", c: 1 }, false],
  [{ not: { not: b }, unevaluatedProperties: false }, { b: 1 }, false],
  [{ dependentSchemas: { a: b }, ...a, unevaluatedProperties: false }, { a: "x", b: 1 }, true],
  [{ patternProperties: { "^x": true }, unevaluatedProperties: false }, { xa: 1 }, true],
  // What stands beside a part has not been looked at by that part.
  [{ ...a, allOf: [{ unevaluatedProperties: false }] }, { a: "x" }, false],
  [{ properties: { in: { allOf: [a], unevaluatedProperties: false } } }, { in: { a: "x", c: 1 } }, false],
  [{ prefixItems: [{ type: "string" }], unevaluatedItems: false }, ["a"], true],
  [{ prefixItems: [{ type: "string" }], unevaluatedItems: false }, ["a", 1], false],
  [{ allOf: [{ prefixItems: [true, true] }], unevaluatedItems: false }, [1, 2], true],
  [{ allOf: [{ prefixItems: [true, true] }], unevaluatedItems: false }, [1, 2, 3], false],
  [{ allOf: [{ items: true }], unevaluatedItems: false }, [1, 2, 3], true],
  [{ contains: { type: "string" }, unevaluatedItems: false }, ["a", "b"], true],
  [{ contains: { type: "string" }, unevaluatedItems: false }, ["a", 1], false],
  [{ items: { type: "number" }, unevaluatedItems: false }, [1], true],
  [
    { uniqueItems: true },
    [
      { a: 1, b: [2] },
      { b: [2], a: 1 },
    ],
    false,
  ],
  [{ uniqueItems: true }, [1, "1", [1], ["1"], { 1: 1 }, true, null, 0, false, {}, []], true],
  [{ uniqueItems: true }, [0, -0], false],
  [{ const: { a: [1, { b: 2 }] } }, { a: [1, { b: 2 }] }, true],
  [{ const: { a: [1] } }, { a: ["1"] }, false],
  [{ enum: [[1], { a: 1 }] }, { a: 1 }, true],
  [{ multipleOf: 0.1 }, 0.3, true],
  [{ multipleOf: 1e-300 }, 1e300, true],
  [{ minLength: 2 }, "😀", false],
  [{ properties: { toString: { type: "string" } } }, {}, true],
  [{ required: ["toString"] }, {}, false],
])("%j holds of %j: %s", (schema, value, expected) => {
  expect(fits(schema, value)).toBe(expected);
});

test.each([
  ["http://example.com", true],
  ["https://a.b-c.example.com:8080/x?y#z", true],
  ["ftp://user:word@example.com/", true],
  ["http://a@b@example.com", true],
  ["http://a/b@example.com", true],
  ["http://8.8.8.8/", true],
  ["HTTP://EXAMPLE.COM", true],
  ["http://bücher.example", true],
  ["http://10.0.0.1/", false],
  ["http://127.0.0.1/", false],
  ["http://192.168.1.1", false],
  ["http://localhost", false],
  ["http://@example.com", false],
  ["http://a--b.example.com", false],
  ["http://-a.example.com", false],
  ["http://example.com:1", false],
  ["http://example.com/a b", false],
  ["gopher://example.com", false],
  ["http://", false],
])("%s is a url: %s", (text, expected) => {
  expect(fits({ format: "url" }, text)).toBe(expected);
});

test.each<[JsonSchema, string]>([
  [{ pattern: "(" }, "/pattern is not an ECMAScript regular expression with the flag u. Write"],
  [{ items: { pattern: "(a)\\1" } }, "/items/pattern refers back to one of its groups. Write"],
  [{ patternProperties: { "(a{9999}){9999}": {} } }, "/patternProperties/(a{9999}){9999} has more than 2000 states"],
  [{ pattern: 7 }, "/pattern is 7. Write a regular expression as a string."],
  [{ properties: [] }, "/properties is []. Write an object of schemas."],
  [{ anyOf: {} }, "/anyOf is {}. Write a list of schemas."],
  [
    { properties: { "a/b": "string" } },
    '/properties/a~1b is not a schema but "string". Write an object, true or false.',
  ],
  [{ required: "a" }, '/required is "a". Write a list.'],
  [{ $ref: "#" }, "the schema refers to itself without going deeper"],
  [{ anyOf: [{ type: "string" }, { not: { $ref: "#" } }] }, "the schema refers to itself without going deeper"],
  [
    {
      properties: { x: { $ref: "#/$defs/a" } },
      $defs: { a: { allOf: [{ $ref: "#/$defs/b" }] }, b: { $ref: "#/$defs/a" } },
    },
    "the schema refers to itself without going deeper",
  ],
  [nested(300), "the schema is nested more than 250 levels deep."],
  [{ enum: Array.from({ length: 100_001 }, (_, index) => index) }, "the schema holds more than 100000 values."],
  [{ description: "a".repeat(5_000_000) }, "the schema has texts and names of more than 4194304 characters together."],
  [{ pattern: "a".repeat(5000) }, "/pattern has 5000 characters, and a pattern may have 4096."],
])("a schema that cannot be checked at bounded cost is refused with its place: %.80j", (schema, sentence) => {
  expect(() => jsonSchema(schema)).toThrow(
    expect.objectContaining({ code: "option_invalid", message: expect.stringContaining(sentence) as string }),
  );
});

function nested(levels: number): JsonSchema {
  return levels === 0 ? {} : { items: nested(levels - 1) };
}

test("a schema that is a ring of objects is refused", () => {
  const ring: Record<string, unknown> = {};
  ring.items = ring;
  expect(() => jsonSchema(ring)).toThrow("the schema is nested more than 250 levels deep");
});

test("a check that takes too many steps ends with a sentence, and not with a value", () => {
  const fields = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, true]));
  const rows = Array.from({ length: 20_000 }, () => ({}));
  const found = validate(jsonSchema({ items: { properties: fields } }), rows);
  expect(found).toMatchObject({
    ok: false,
    issues: [{ message: expect.stringContaining("takes too long") as string }],
  });
});

test("a chain of references that is longer than the stack ends with a sentence", () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, index) => [
      `d${index}`,
      index === 19_999 ? true : { $ref: `#/$defs/d${index + 1}` },
    ]),
  );
  const found = validate(jsonSchema({ $ref: "#/$defs/d0", $defs }), 1);
  expect(found).toMatchObject({
    ok: false,
    issues: [{ message: expect.stringContaining("nested too deeply") as string }],
  });
});
