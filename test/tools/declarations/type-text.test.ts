import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { jsonSchemaOf } from "../../../src/tools/tool-schemas.ts";
import type { JsonSchema } from "../../../src/tools/json-schema/json-schema.ts";
import { PYTHON } from "../../../src/tools/declarations/type-notation.ts";
import { oneLine } from "../../../src/tools/declarations/one-line.ts";
import { typeText } from "../../../src/tools/declarations/type-text.ts";

const BARE = { descriptionLength: 0, depth: 8 };
const object = (properties: JsonSchema, rest: JsonSchema = {}): JsonSchema => ({ type: "object", properties, ...rest });
const string = { type: "string" };
const number = { type: "number" };

test.each<[JsonSchema, string]>([
  [string, "string"],
  [{ type: "integer", minimum: 1 }, "number"],
  [{ type: "boolean" }, "boolean"],
  [{ type: "null" }, "null"],
  [{ type: ["string", "null"] }, "string | null"],
  [{}, "unknown"],
  [{ type: "date" }, "unknown"],
  [{ const: 7 }, "7"],
  [{ const: null }, "null"],
  [{ enum: ["a", 'b"', 1, null] }, '"a" | "b\\"" | 1 | null'],
  [
    { enum: Array.from({ length: 20 }, (_, index) => index) },
    `${Array.from({ length: 16 }, (_, index) => index).join(" | ")} /* and 4 more */`,
  ],
  [{ type: "array", items: string }, "string[]"],
  [{ type: "array" }, "unknown[]"],
  [{ type: "array", items: { type: ["string", "null"] } }, "(string | null)[]"],
  [{ type: "array", items: { enum: ["a", "b"] } }, '("a" | "b")[]'],
  [{ type: "array", items: { type: "array", items: number } }, "number[][]"],
  [{ type: "array", items: object({ a: string }) }, "{ a?: string }[]"],
  [{ type: "array", prefixItems: [string, number] }, "[string, number]"],
  [{ anyOf: [string, number, { type: "integer" }] }, "string | number"],
  [{ oneOf: [object({ a: string }), object({ b: number })] }, "{ a?: string } | { b?: number }"],
  [{ allOf: [object({ a: string }), object({ b: number })] }, "{ a?: string } & { b?: number }"],
  [{ allOf: [{ type: ["string", "number"] }, string] }, "(string | number) & string"],
  [object({ a: string, b: number }, { required: ["b"] }), "{ a?: string, b: number }"],
  [{ properties: { a: string } }, "{ a?: string }"],
  [{ type: "object" }, "Record<string, unknown>"],
  [{ type: "object", additionalProperties: false }, "{}"],
  [object({}), "{}"],
  [{ type: "object", additionalProperties: number }, "Record<string, number>"],
  [object({ a: string }, { additionalProperties: number }), "{ a?: string } & Record<string, number>"],
  [object({ a: string }, { additionalProperties: {} }), "{ a?: string }"],
  [
    object({ "odd key": string, "1st": string, $ok: string, _a1: string }),
    '{ "odd key"?: string, "1st"?: string, $ok?: string, _a1?: string }',
  ],
  [object({ never: false }), "{ never?: never }"],
  [object({ any: true }), "{ any?: unknown }"],
  [
    { type: "array", items: { anyOf: [object({ a: string }), object({ b: number })] } },
    "({ a?: string } | { b?: number })[]",
  ],
  [
    { allOf: [{ anyOf: [object({ a: string }), object({ b: string })] }, object({ c: string })] },
    "({ a?: string } | { b?: string }) & { c?: string }",
  ],
  [object({ a: string }, { anyOf: [{ required: ["a"] }, { required: ["b"] }] }), "{ a?: string }"],
  [{ allOf: [{}, { minLength: 1 }] }, "unknown"],
  [{ const: { a: "\u202e\u2028" } }, '{"a":" "}'],
])("the schema %j is the type %s", (schema, type) => {
  expect(typeText(schema, BARE)).toBe(type);
});

test.each<[JsonSchema, string]>([
  [string, "str"],
  [{ type: "integer" }, "int"],
  [number, "float"],
  [{ type: "boolean" }, "bool"],
  [{ type: ["string", "null"] }, "str | None"],
  [{}, "Any"],
  [{ enum: [] }, "Never"],
  [{ const: "a" }, 'Literal["a"]'],
  [{ enum: ["a", 'b"', 1, null, true, false] }, 'Literal["a", "b\\"", 1, None, True, False]'],
  [
    { enum: Array.from({ length: 20 }, (_, index) => index) },
    `Literal[${Array.from({ length: 16 }, (_, index) => index).join(", ")}, ...]`,
  ],
  [{ type: "array", items: { type: ["string", "null"] } }, "list[str | None]"],
  [{ type: "array" }, "list[Any]"],
  [{ type: "array", prefixItems: [string, number] }, "tuple[str, float]"],
  [object({ a: string, "odd key": number }, { required: ["a"] }), '{"a": str, "odd key": NotRequired[float]}'],
  [{ type: "object", additionalProperties: number }, "dict[str, float]"],
  [{ type: "object" }, "dict[str, Any]"],
  [object({}), "{}"],
  [{ anyOf: [object({ a: string }), { type: "null" }] }, '{"a": NotRequired[str]} | None'],
  [object({ a: { type: "string", description: "Who */ it is" } }), '{"a": NotRequired[str] /* Who * / it is */}'],
])("the schema %j is the type %s in Python", (schema, type) => {
  expect(typeText(schema, { descriptionLength: 80, depth: 8, notation: PYTHON })).toBe(type);
});

test("in Python, too, deeper levels are only named", () => {
  const schema = object({ a: object({ b: string }), list: { type: "array", items: string } });
  expect(typeText(schema, { descriptionLength: 0, depth: 1, notation: PYTHON })).toBe(
    '{"a": NotRequired[dict], "list": NotRequired[list]}',
  );
});

test.each<[JsonSchema, string]>([
  [object({ a: { $ref: "#/$defs/name" } }, { $defs: { name: string } }), "{ a?: string }"],
  [object({ a: { $ref: "#/$defs/a~1b~0c" } }, { $defs: { "a/b~c": string } }), "{ a?: string }"],
  [object({ a: { $ref: "#/properties/b" }, b: number }), "{ a?: number, b?: number }"],
  [object({ a: { $ref: "#/$defs/missing" } }), "{ a?: unknown }"],
  [object({ a: { $ref: "#/$defs/toString" } }, { $defs: {} }), "{ a?: unknown }"],
  [object({ a: { $ref: "https://example.com/schema" } }), "{ a?: unknown }"],
  [{ $ref: "#" }, "unknown"],
  [
    object({ name: string, children: { type: "array", items: { $ref: "#" } } }),
    "{ name?: string, children?: { name?: string, children?: unknown[] }[] }",
  ],
  [
    { $ref: "#/$defs/a", $defs: { a: object({ b: { $ref: "#/$defs/b" } }), b: object({ a: { $ref: "#/$defs/a" } }) } },
    "{ b?: { a?: unknown } }",
  ],
])("a reference within the schema %j is followed until it comes round: %s", (schema, type) => {
  expect(typeText(schema, BARE)).toBe(type);
});

test("elements of elements are not told, so that a list of itself and lists that fan out come to an end", () => {
  const items = (index: number) => Array.from({ length: 16 }, () => ({ items: { $ref: `#/$defs/a${index}` } }));
  const $defs = Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [`a${index}`, { allOf: items(index + 1) }]),
  );
  const schema = {
    type: "object",
    properties: {
      self: { $ref: "#/$defs/self" },
      fan: { $ref: "#/$defs/a0" },
      one: { type: "array", items: { type: "string", minLength: 2 } },
    },
    $defs: { ...$defs, a12: { type: "string" }, self: { type: "array", maxItems: 3, items: { $ref: "#/$defs/self" } } },
  };
  const text = typeText(schema, { ...BARE, constraints: true });
  expect(text).toContain("<= 3 items");
  expect(text).toContain("each >= 2 characters");
  expect(text.length).toBeLessThan(1000);
});

test("references that fan out are read only so far", () => {
  let reads = 0;
  const $defs: Record<string, unknown> = {
    a22: {
      get type() {
        reads += 1;
        return "string";
      },
    },
  };
  for (let index = 0; index < 22; index += 1) {
    const next = { $ref: `#/$defs/a${index + 1}` };
    $defs[`a${index}`] = { anyOf: [next, next] };
  }
  expect(typeText({ $ref: "#/$defs/a0", $defs }, BARE)).toMatch(/^string [| a-z]{1,500}$/);
  expect(reads).toBeLessThan(10_000);
});

test.each<[number, string]>([
  [0, "object"],
  [1, "{ a?: object, list?: unknown[] }"],
  [2, "{ a?: { b?: object }, list?: { d?: object }[] }"],
  [3, "{ a?: { b?: { c?: string } }, list?: { d?: { e?: number } }[] }"],
])("of nested types %j levels are written out: %s", (depth, type) => {
  const schema = object({
    a: object({ b: object({ c: string }) }),
    list: { type: "array", items: object({ d: object({ e: number }) }) },
  });
  expect(typeText(schema, { descriptionLength: 0, depth })).toBe(type);
});

test("descriptions of properties stand behind them, as long as is allowed", () => {
  const schema = object({
    a: { type: "string", description: "Who it is, by name" },
    b: { ...number, description: "" },
  });
  expect(typeText(schema, BARE)).toBe("{ a?: string, b?: number }");
  expect(typeText(schema, { descriptionLength: 100, depth: 8 })).toContain("{ a?: string /* Who it is, by name */,");
  expect(typeText(schema, { descriptionLength: 12, depth: 8 })).toContain("{ a?: string /* Who it is… */,");
});

test("a zod schema is the type of what may be sent", () => {
  const schema = z.object({
    ids: z.array(z.union([z.string(), z.number()])),
    page: z.number().default(1),
    kind: z.enum(["a", "b"]).nullable(),
    tags: z.record(z.string(), z.boolean()),
  });
  expect(typeText(jsonSchemaOf("t", "input", schema), BARE)).toBe(
    '{ ids: (string | number)[], page?: number, kind: "a" | "b" | null, tags: Record<string, boolean> }',
  );
});

const hostile = fc.string({
  unit: fc.constantFrom(
    "a",
    " ",
    "\n",
    "\r",
    "\t",
    "\u001b[2J",
    "*/",
    "*",
    "/",
    "\u2028",
    "\u202e",
    "\u200b",
    "\u0000",
    "'",
    '"',
    "`",
  ),
});

test("whatever names, literals and descriptions hold, a type stays on one line", () => {
  fc.assert(
    fc.property(hostile, hostile, hostile, (name, value, description) => {
      const schema = object({ [name]: { enum: [value], description } });
      expect(typeText(schema, { descriptionLength: 50, depth: 8 })).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    }),
  );
});

test("no description ends the comment it stands in", () => {
  fc.assert(
    fc.property(hostile, (description) => {
      const type = typeText(object({ a: { ...string, description } }), { descriptionLength: 50, depth: 8 });
      const isTold = oneLine(description, 50) !== "";
      expect(type.startsWith(isTold ? "{ a?: string /* " : "{ a?: string }")).toBe(true);
      expect(type.indexOf("*/")).toBe(isTold ? type.length - "*/ }".length : -1);
    }),
  );
});

test.each([
  ["  two \n\n lines\t", 100, "two lines"],
  ["\u001b[31mred\u001b[0m", 100, "[31mred [0m"],
  ["a */ b", 100, "a * / b"],
  ["one two three", 13, "one two three"],
  ["one two three", 12, "one two…"],
  ["one two, three", 10, "one two…"],
  ["averyveryverylongword", 10, "averyvery…"],
  ["", 10, ""],
])("the text %j in at most %j characters is %j", (text, length, line) => {
  expect(oneLine(text, length)).toBe(line);
});

test.each<[JsonSchema, string]>([
  [{ type: "integer", minimum: 1, maximum: 100, default: 20 }, "number /* integer, 1 to 100, default 20 */"],
  [{ type: "number", exclusiveMinimum: 0, multipleOf: 5 }, "number /* > 0, multiple of 5 */"],
  [{ type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: 9 }, "number /* integer, <= 9 */"],
  [{ type: "string", format: "date", pattern: "^\\d+$" }, "string /* date */"],
  [{ type: "string", pattern: "^[A-Z]{2}$" }, "string /* /^[A-Z]{2}$/ */"],
  [{ type: "string", pattern: `^${"[a-z]?".repeat(20)}$` }, "string /* /^[a-z]?[a-z]?[a-z]?[a-z]?[a-z]?[a-z]?[a…/ */"],
  [{ type: "string", pattern: "a*" }, "string /* /a* / */"],
  [{ type: "string", minLength: 1 }, "string /* not empty */"],
  [{ type: "string", minLength: 2, maxLength: 2, description: "Land" }, "string /* 2 characters; Land */"],
  [
    { type: "array", items: { type: "string", format: "email" }, minItems: 1, maxItems: 3 },
    "string[] /* 1 to 3 items, each email */",
  ],
  [{ type: "array", items: { type: "string" }, uniqueItems: true }, "string[] /* no two equal */"],
  [{ anyOf: [{ type: "number", minimum: 1 }, { type: "null" }] }, "number | null /* >= 1 */"],
  [
    {
      anyOf: [
        { type: "number", minimum: 1 },
        { type: "string", minLength: 1 },
      ],
    },
    "number | string",
  ],
  [{ type: "string", allOf: [{ minLength: 3 }, { maxLength: 5 }] }, "string /* >= 3 characters, <= 5 characters */"],
  [{ $ref: "#/$defs/page" }, "number /* integer, >= 1 */"],
  [{ type: "string", default: "*/ injected \n line" }, 'string /* default "* / injected \\n line" */'],
])("the bounds of %j are told in a comment", (field, text) => {
  const schema = { ...object({ a: field }), $defs: { page: { type: "integer", minimum: 1 } } };
  expect(typeText(schema, { descriptionLength: 50, constraints: true, depth: 8 })).toBe(`{ a?: ${text} }`);
  expect(typeText(schema, { descriptionLength: 0, depth: 8 })).not.toContain("/*");
});
