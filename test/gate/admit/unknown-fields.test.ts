import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { expect, test } from "vitest";
import { z } from "zod";
import { readInput } from "../../../src/gate/admit/read-input.ts";
import type { JsonSchema } from "../../../src/tools/json-schema/json-schema.ts";
import { jsonSchema, type Schema, storedSchema } from "../../../src/tools/schema.ts";
import { INTEGRATIONS } from "../../support/integrations.ts";
import { failing, makeTool, testOfAll } from "../../support/index.ts";

const Effect = INTEGRATIONS ? (await import("effect")).Schema : undefined;

/** A tool as `defineTool` makes it, to read inputs for. */
function toolWith(input: Schema, unknownFields: "refuse" | "allow" = "refuse") {
  return makeTool({
    name: "movies.query",
    inputSchema: input,
    unknownFields,
    allowedCallers: ["direct"],
    execute: () => null,
  });
}

/** The value that the handler receives, or why the input is refused. */
async function read(input: Schema, value: unknown, unknownFields?: "refuse" | "allow"): Promise<unknown> {
  const found = await readInput(toolWith(input, unknownFields), JSON.stringify(value), 40_000, () => undefined);
  return found.ok === true ? found.value : found.ok === false ? found.reason : "no room";
}

const object = (properties: JsonSchema, more: JsonSchema = {}): JsonSchema => ({ type: "object", properties, ...more });
const plain = (properties: JsonSchema, more: JsonSchema = {}) => jsonSchema(object(properties, more));
const text = { type: "string" };

/** Films by rating and place, in each library. */
const LIBRARIES: Readonly<Record<string, Schema>> = {
  "zod's object": z.object({ minRating: z.number().optional(), place: z.object({ city: z.string() }).optional() }),
  "zod's strict object": z.strictObject({
    minRating: z.number().optional(),
    place: z.strictObject({ city: z.string() }).optional(),
  }),
  valibot: toStandardJsonSchema(
    v.object({ minRating: v.optional(v.number()), place: v.optional(v.object({ city: v.string() })) }),
  ),
  arktype: type({ "minRating?": "number", "place?": { city: "string" } }),
  ...(Effect && {
    effect: Effect.toStandardJSONSchemaV1(
      Effect.toStandardSchemaV1(
        Effect.Struct({
          minRating: Effect.optionalKey(Effect.Number),
          place: Effect.optionalKey(Effect.Struct({ city: Effect.String })),
        }),
      ),
    ),
  }),
  "plain JSON Schema": plain({ minRating: { type: "number" }, place: object({ city: text }, { required: ["city"] }) }),
};

test.each(Object.entries(LIBRARIES))(
  "with %s a field that the schema does not know is refused, with the name that was probably meant",
  async (_, schema) => {
    expect(await read(schema, { minRatng: 7 })).toMatch(/^minRatng .*minRating\?$/);
    expect(await read(schema, { place: { city: "Bern", citty: "Bern" } })).toMatch(/^place\.citty .*city\?$/);
    expect(await read(schema, { minRating: 7, place: { city: "Bern" } })).toEqual({
      minRating: 7,
      place: { city: "Bern" },
    });
  },
);

test.each(Object.entries(LIBRARIES))(
  "with %s null counts as absent where a field is optional and cannot be null",
  async (_, schema) => {
    expect(await read(schema, { minRating: null, place: null })).toEqual({});
    expect(await read(schema, { place: { city: null } })).toMatch(/^place\.city: /);
  },
);

test.each<[string, Schema, unknown]>([
  ["zod's loose object", z.looseObject({ a: z.string() }), { a: "x", b: { c: 1 } }],
  ["zod's catchall", z.object({ a: z.string() }).catchall(z.number()), { a: "x", b: 1 }],
  ["zod's record", z.record(z.string(), z.number()), { a: 1 }],
  ["anything in a field", z.object({ a: z.unknown(), b: z.json() }), { a: { x: [{ y: 1 }] }, b: { z: [{ q: null }] } }],
  ["valibot's rest", toStandardJsonSchema(v.objectWithRest({ a: v.string() }, v.number())), { a: "x", b: 1 }],
  ["arktype's index", type({ "[string]": "number" }), { a: 1 }],
  ["an object without named fields", jsonSchema({ type: "object" }), { a: { b: 1 } }],
  ["additionalProperties: true", plain({ a: text }, { additionalProperties: true }), { b: 1 }],
  ["a schema for other fields", plain({ a: text }, { additionalProperties: { type: "number" } }), { b: 1 }],
  ["patterns of names", plain({ a: text }, { patternProperties: { "^x-": text } }), { a: "x", "x-b": "y" }],
  ["unevaluatedProperties", plain({ a: text }, { unevaluatedProperties: { type: "number" } }), { b: 1 }],
  [
    "a field that may be anything beside an object",
    plain({ a: { anyOf: [object({ b: text }), {}] } }),
    { a: { c: 1 } },
  ],
])("a schema that says it is open stays open: %s", async (_, schema, value) => {
  expect(await read(schema, value)).toEqual(value);
});

/** Written as JSON, because an object with a `then` would be a promise's. */
const conditional = JSON.parse(
  '{ "if": { "properties": { "kind": { "const": "a" } } }, "then": { "properties": { "extra": { "type": "string" } } } }',
) as JsonSchema;

test.each<[string, Schema, unknown]>([
  [
    "an alternative",
    z.object({ x: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]) }),
    { x: { b: "y" } },
  ],
  ["an intersection", z.object({ a: z.string() }).and(z.object({ b: z.string() })), { a: "x", b: "y" }],
  ["a part of allOf", plain({ a: text }, { allOf: [object({ b: text })] }), { a: "x", b: "y" }],
  [
    "a reference beside fields",
    plain({ a: text }, { $ref: "#/$defs/b", $defs: { b: object({ b: text }) } }),
    { b: "y" },
  ],
  ["a condition", plain({ kind: text }, conditional), { kind: "a", extra: "x" }],
  ["a dependent schema", plain({ a: text }, { dependentSchemas: { a: object({ b: text }) } }), { a: "x", b: "y" }],
  [
    "alternatives of required fields",
    plain({ a: text, b: text }, { anyOf: [{ required: ["a"] }, { required: ["b"] }] }),
    { b: "y" },
  ],
  [
    "a tuple",
    plain({ t: { prefixItems: [object({ a: text })], items: object({ b: text }) } }),
    { t: [{ a: "" }, { b: "" }] },
  ],
  ["a schema with a pattern of another library", z.object({ a: z.string().regex(/(x)\1/) }), { a: "xx" }],
])("a field that one part of the schema knows is taken: %s", async (_, schema, value) => {
  expect(await read(schema, value)).toEqual(value);
});

const shape = z.object({
  shape: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("circle"), radius: z.number() }),
    z.object({ kind: z.literal("square"), side: z.number().optional() }),
  ]),
});

test.each<[string, Schema, unknown, string]>([
  [
    "a list",
    z.object({ rows: z.array(z.object({ a: z.string() })) }),
    { rows: [{ a: "x" }, { a: "y", extra: 1 }] },
    "rows[1].extra is not a field",
  ],
  [
    "the alternative that its tag names",
    shape,
    { shape: { kind: "square", radius: 2 } },
    "shape.radius is not a field",
  ],
  [
    "every alternative",
    z.object({ x: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]) }),
    { x: { a: "x", extra: 1 } },
    "x.extra is not a field",
  ],
  [
    "a recursive schema",
    jsonSchema(object({ kids: { type: "array", items: { $ref: "#" } } })),
    { kids: [{ kids: [{ extra: 1 }] }] },
    "kids[0].kids[0].extra is not a field",
  ],
  ["parts of allOf", plain({ a: text }, { allOf: [object({ b: text })] }), { extra: 1 }, "extra is not a field"],
  [
    "a field that another part of allOf only describes",
    plain({ where: object({ city: text }) }, { allOf: [object({ where: { description: "Where it is." } })] }),
    { where: { city: "Oslo", extra: 1 } },
    "where.extra is not a field",
  ],
  [
    "the schema of a field, which a pattern of names takes too",
    plain({ where: object({ city: text }) }, { patternProperties: { "^w": { minProperties: 1 } } }),
    { where: { city: "Oslo", extra: 1 } },
    "where.extra is not a field",
  ],
  ["an object without any field", z.object({}), { extra: 1 }, "extra is not a field"],
  [
    "a name of another pattern",
    plain({ a: text }, { patternProperties: { "^x-": text } }),
    { y: 1 },
    "y is not a field; did you mean a?",
  ],
  [
    "a name that objects inherit",
    z.object({ a: z.string().optional() }),
    { toString: 1, constructor: 2 },
    "toString is not a field; constructor is not a field",
  ],
  [
    "two fields, and what else is wrong",
    z.object({ limit: z.number(), sort: z.string() }),
    { limt: 1, srt: "a" },
    "limt is not a field; did you mean limit? srt is not a field; did you mean sort? limit: Invalid input: expected number, received undefined; sort: Invalid input: expected string, received undefined",
  ],
])("a field unknown to %s is refused where it stands", async (_, schema, value, sentence) => {
  expect(String(await read(schema, value)).replaceAll(" of movies.query", "")).toBe(sentence);
});

test("unknownFields: allow passes unknown fields on to the schema", async () => {
  const loose = toStandardJsonSchema(v.looseObject({ a: v.string() }));
  expect(await read(loose, { a: "x", b: 1 })).toMatch(/^b .*a\?$/);
  expect(await read(loose, { a: "x", b: 1 }, "allow")).toEqual({ a: "x", b: 1 });
  expect(await read(z.strictObject({ a: z.string() }), { a: "x", b: 1 }, "allow")).toBe(
    'Unrecognized key: "b", got {"a":"x","b":1}',
  );
});

test("null stays where the schema takes it, requires the field, or does not name it", async () => {
  const schema = z.object({
    takes: z.number().nullish(),
    any: z.unknown(),
    rows: z.array(z.object({ a: z.string().optional(), b: z.string().nullable().optional() })),
    map: z.record(z.string(), z.null()),
  });
  const value = { takes: null, any: null, rows: [{ a: null, b: null }], map: { k: null } };
  expect(await read(schema, value)).toEqual({ ...value, rows: [{ b: null }] });
  expect(await read(z.object({ a: z.number() }), { a: null })).toMatch(/^a: .*null/);
  expect(await read(plain({ a: text }, { minProperties: 1 }), { a: null })).not.toEqual({ a: null });
  expect(await read(plain({ a: { enum: ["x", null] } }), { a: null })).toEqual({ a: null });
  expect(
    await read(jsonSchema({ type: "object", anyOf: [object({ a: text }), { minProperties: 1 }] }), { a: null }),
    "an alternative that is silent about it",
  ).toEqual({ a: null });
  expect(
    await read(plain({ a: { $ref: "#/$defs/a" } }, { $defs: { a: { type: ["string", "null"] } } }), { a: null }),
  ).toEqual({ a: null });
});

test("thousands of unknown fields with long names give a bounded message", async () => {
  const names = Array.from({ length: 30_000 }, (_, index) => `${index}${"x".repeat(30)}`);
  names.push("y".repeat(100_000), "line\nbreak");
  const value = Object.fromEntries(names.toReversed().map((name) => [name, 1]));
  const reason = await read(z.object({ a: z.string().optional() }), value);
  expect(reason).toContain(`"line\\nbreak" is not a field of movies.query`);
  expect(reason).toContain(`"${"y".repeat(64)}…" is not a field of movies.query`);
  expect(reason).toContain("and 29997 more fields that movies.query does not have");
  expect((reason as string).length).toBeLessThan(1000);
});

test("each part of a schema whose alternatives refer to each other in every combination is read once", async () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) =>
      ["a", "b"].map((side) => [
        `${side}${index}`,
        index === 39
          ? object({ x: text })
          : {
              properties: { [`${side}${index}`]: text },
              anyOf: [{ $ref: `#/$defs/a${index + 1}` }, { $ref: `#/$defs/b${index + 1}` }],
            },
      ]),
    ).flat(),
  );
  const schema = plain({ at: { $ref: "#/$defs/a0" } }, { $defs });
  expect(await read(schema, { at: { x: "1" } })).toEqual({ at: { x: "1" } });
});

testOfAll("fields are read with the steps of the schema's owner, and parts that are joined again count", async () => {
  const tooLong = "it takes too long to be checked against the tool's schema: pass less";
  const alternatives = Array.from({ length: 200 }, (_, index) => ({ properties: { [`p${index}`]: {} } }));
  const json = (word: "anyOf" | "allOf", references: number): JsonSchema => ({
    type: "object",
    properties: { a: { items: { allOf: Array.from({ length: references }, () => ({ $ref: "#/$defs/x" })) } } },
    $defs: { x: { [word]: alternatives } },
  });
  const list = (count: number) => ({ a: Array.from({ length: count }, () => ({ p0: 1 })) });
  expect(await read(jsonSchema(json("anyOf", 1)), list(300))).toEqual(list(300));
  expect(await read(storedSchema(json("anyOf", 1)), list(300))).toBe(tooLong);
  expect(await read(storedSchema(json("allOf", 1000)), list(100))).toBe(tooLong);
});

test("an input whose fields cannot be told from its JSON Schema is refused when the tool is defined, or passes all on", async () => {
  const standard = z.object({ a: z.string() })["~standard"];
  const unreadable = {
    "~standard": {
      ...standard,
      jsonSchema: { ...standard.jsonSchema, input: () => ({ type: "object", $ref: "https://example.com/schema" }) },
    },
  };
  expect(() => toolWith(unreadable)).toThrow(
    expect.objectContaining(failing("tool_invalid", 'unknownFields: "allow"')),
  );
  expect(await read(unreadable, { a: "x", b: 1 }, "allow")).toEqual({ a: "x" });
});
