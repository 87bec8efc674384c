import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { expect, test } from "vitest";
import { z } from "zod";
import { createRuntime, defineTool } from "../../src/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import type { JsonSchema } from "../../src/tools/json-schema/json-schema.ts";
import { withWholeNumbers } from "../../src/tools/whole-numbers.ts";
import { isSchema, issuesText, jsonSchema, type Schema, storedSchema, validate } from "../../src/tools/schema.ts";
import { failing } from "../support/failing.ts";

/** The value a schema makes of a value, or what is wrong with it in a sentence. */
async function read(schema: Schema, value: unknown): Promise<unknown> {
  const validated = await validate(schema, value);
  return validated.ok ? { value: validated.value } : issuesText(validated.issues);
}

const people = z.object({
  people: z.array(z.object({ name: z.string(), age: z.number().int().min(0).default(18) })),
  "odd key": z.boolean().optional(),
});

test.each<[unknown, string]>([
  [{ people: [{ name: 7 }] }, "people[0].name: Invalid input: expected string, received number"],
  [{}, "people: Invalid input: expected array, received undefined"],
  [[], "Invalid input: expected object, received array"],
  [{ people: [{ name: "a" }, { name: "b", age: -1 }] }, "people[1].age: Too small: expected number to be >=0, got -1"],
  [{ people: [], "odd key": "yes" }, "odd key: Invalid input: expected boolean, received string"],
  [
    { people: [{ name: 1 }, { name: 2 }] },
    "people[0].name: Invalid input: expected string, received number; people[1].name: Invalid input: expected string, received number",
  ],
])("a zod schema says of %j where, what was expected and what came", async (value, sentence) => {
  expect(await read(people, value)).toBe(sentence);
});

test("what a schema makes of a value is what counts: defaults are set, other fields dropped", async () => {
  expect(await read(people, { people: [{ name: "a", extra: 1 }] })).toEqual({
    value: { people: [{ name: "a", age: 18 }] },
  });
});

const place = { city: { name: "Bern", zip: "x" } };

test("a choice within a choice tells why its alternatives do not fit, the nearest first", async () => {
  const inner = z.union([z.object({ name: z.string(), zip: z.number() }), z.null()]);
  expect(await read(z.object({ place: z.union([z.string(), z.object({ city: inner })]) }), { place })).toBe(
    "place: Invalid input (city: Invalid input (zip: Invalid input: expected number, received string; or Invalid input: expected null, received object); or Invalid input: expected string, received object)",
  );
  const valibotInner = v.union([v.object({ name: v.string(), zip: v.number() }), v.null()]);
  const told = await read(
    toStandardJsonSchema(v.object({ place: v.union([v.string(), v.object({ city: valibotInner })]) })),
    { place },
  );
  expect(told).toContain('zip: Invalid type: Expected number but received "x"');
});

test("five issues are told and the others are counted", async () => {
  const issue = (index: number) => `[${index}]: Invalid input: expected string, received number`;
  expect(await read(z.array(z.string()), [1, 2, 3, 4, 5])).toBe([0, 1, 2, 3, 4].map(issue).join("; "));
  expect(await read(z.array(z.string()), [1, 2, 3, 4, 5, 6, 7])).toBe(
    `${[0, 1, 2, 3, 4].map(issue).join("; ")}; and 2 more`,
  );
});

/** A schema of zod that counts the faults that it describes. */
function counted() {
  const seen = { faults: 0 };
  const error = () => {
    seen.faults += 1;
    return "no text";
  };
  return { seen, text: z.string({ error }) };
}

test("of a large value, zod describes the first fault alone: in results, items and inputs, also if it validates later", async () => {
  const { seen, text } = counted();
  const texts = z.array(text);
  const tool = { description: "Gives", allowedCallers: ["programmatic"], effect: "read" } as const;
  const numbers = Array.from({ length: 5000 }, () => 1);
  const late = texts.refine(async () => true);
  const none = z.object({});
  const gives = (name: string, outputSchema: Schema, more: object) =>
    defineTool({ ...tool, name, inputSchema: none, outputSchema, execute: () => numbers, ...more } as never);
  await using runtime = await createRuntime({
    tools: [
      gives("result", texts, {}),
      gives("late", late, {}),
      gives("items", texts, { stream: true, execute: () => [numbers] }),
      defineTool({ ...tool, name: "input", inputSchema: z.object({ texts }), execute: () => 1 }),
    ],
    sandbox: createMemorySandbox(),
  });
  const codes = await runtime.execute(`
    const numbers = Array.from({ length: 5000 }, () => 1);
    const calls = [tools.result({}), tools.late({}), Array.fromAsync(tools.items({})), tools.input({ texts: numbers })];
    return (await Promise.allSettled(calls)).map(({ reason }) => reason.code);
  `);
  expect(codes.outcome).toMatchObject({
    value: ["output_invalid", "output_invalid", "output_invalid", "input_invalid"],
  });
  expect(seen.faults).toBe(4);
  const returned = await runtime.execute("return Array.from({ length: 5000 }, () => 1)", { result: texts });
  expect(returned.outcome).toMatchObject({
    fault: { message: expect.stringContaining("no text, got 1; there may be more") },
  });
  expect(seen.faults).toBe(5);
});

/** Written as JSON, because an object with a `then` would be a promise's. */
const conditional = JSON.parse(
  '{ "if": { "type": "string" }, "then": { "minLength": 3 }, "else": { "minimum": 3 } }',
) as JsonSchema;

test.each<[JsonSchema, unknown, string]>([
  [{ type: "object", required: ["id"] }, {}, 'the field "id" is missing, got {}'],
  [
    { properties: { a: { items: { $ref: "#/$defs/name" } } }, $defs: { name: { type: "string" } } },
    { a: ["x", 1] },
    "a[1]: expected string, got 1",
  ],
  [{ not: { type: "string" } }, "a", 'expected no value that fits the schema under "not", got "a"'],
  [conditional, "ab", 'expected at least 3 characters, got "ab"'],
  [conditional, 2, "expected at least 3, got 2"],
  [{ enum: ["a", "b"] }, "c", 'expected "a" or "b", got "c"'],
  [
    { anyOf: [{ type: "string" }, { type: "number" }] },
    true,
    "it fits none of the 2 alternatives (expected string; or expected number), got true",
  ],
  [
    { properties: { a: { oneOf: [{ type: "string" }, { properties: { b: { type: "number" } }, type: "object" }] } } },
    { a: { b: "c" } },
    'a: it fits none of the 2 alternatives (b: expected number; or expected string), got {"b":"c"}',
  ],
  [
    { enum: Array.from({ length: 100 }, (_, index) => index) },
    -1,
    `expected ${Array.from({ length: 16 }, (_, index) => index).join(" or ")} or 84 others, got -1`,
  ],
  [
    { oneOf: [{ minimum: 1 }, { minimum: 2 }, { type: "string" }] },
    3,
    "it fits 2 of the 3 alternatives, and has to fit one alone, got 3",
  ],
  [
    {
      properties: {
        a: {
          anyOf: [
            { type: "null" },
            { properties: { b: { anyOf: [{ type: "string" }, { items: { type: "number" }, type: "array" }] } } },
          ],
        },
      },
    },
    { a: { b: ["x"] } },
    'a: it fits none of the 2 alternatives (b: it fits none of the 2 alternatives ([0]: expected number; or expected string); or expected null), got {"b":["x"]}',
  ],
  [{ maxLength: 2 }, "x".repeat(100), "expected at most 2 characters, got a string of 100 characters"],
  [{ properties: { "a/b~c %": { type: "null" } } }, { "a/b~c %": 1 }, "a/b~c %: expected null, got 1"],
])("the JSON Schema %j says of %j where, what was expected and what came", async (schema, value, sentence) => {
  expect(await read(jsonSchema(schema), value)).toBe(sentence);
});

const tree: JsonSchema = {
  type: "object",
  properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#" } } },
  required: ["name"],
};

/** As documents and servers send them. Of those that are not read, one would have the wrong meaning. */
const PATTERNS: readonly (readonly [pattern: string, fits: string, fitsNot: string])[] = [
  [String.raw`^https\:\/\/`, "https://a", "http://a"],
  [String.raw`^\d{4}\-\d{2}$`, "2026-01", "202601"],
  [String.raw`^[\w-.]+@[\w\-\.]+$`, "a.b-c@d", "a+b@d"],
  [String.raw`^[\p{L}\_\ ]+$`, "ä_ ß", "1"],
  ["^{[a-z]+}$", "{ab}", "ab"],
  ["^[a]]$", "a]", "a"],
];
const NOT_READ = [
  ..."(?i)^a$ \\A[a-z]+\\z (?P<x>a) (?>a) a++ [[:alpha:]]+ []a]+ [a[bc]] a{,5} [a-z]{1-70} \\h (?=a)* \\01 \\1".split(
    " ",
  ),
  "[a-z&&[^b]]",
  "a\\",
];

test.each(PATTERNS)("the pattern %j, which is none with the flag u, is checked as it is without it", async (...one) => {
  const [pattern, fits, fitsNot] = one;
  for (const schema of [{ pattern }, { propertyNames: { pattern } }, { patternProperties: { [pattern]: false } }]) {
    const takes = async (text: string) => {
      const value = "pattern" in schema ? text : { [text]: 1 };
      return typeof (await read(jsonSchema(schema), value)) !== "string";
    };
    expect([await takes(fits), await takes(fitsNot)]).toEqual(
      "patternProperties" in schema ? [false, true] : [true, false],
    );
  }
});

test.each(NOT_READ)("the pattern %j of another notation is not read as if it were JavaScript's", (pattern) => {
  expect(() => jsonSchema({ pattern })).toThrow("/pattern is not an ECMAScript regular expression");
});

test("a pattern between slashes, which no text fits, is told", () => {
  expect(() => jsonSchema({ pattern: "/^[a-z]+$/i" })).toThrow("/pattern is written between slashes");
});

test("a fault deep in a value that refers to its own schema is told with its whole path", async () => {
  expect(await read(jsonSchema(tree), { name: "a", children: [{ name: "b", children: [{ name: 7 }] }] })).toBe(
    "children[0].children[0].name: expected string, got 7",
  );
});

test("a JSON Schema is a copy of the one that was wrapped, and later changes have no effect", () => {
  const own = { type: "object", properties: { a: { type: "string" } } };
  const schema = jsonSchema(own);
  const given = schema["~standard"].jsonSchema.input({ target: "draft-2020-12" });
  own.type = "string";
  given.type = "number";
  const expected = { type: "object", properties: { a: { type: "string" } } };
  expect(schema["~standard"].jsonSchema.input({ target: "draft-2020-12" })).toEqual(expected);
  expect(schema["~standard"].jsonSchema.output({ target: "draft-2020-12" })).toEqual(expected);
});

test.each([
  undefined,
  null,
  "object",
  [],
  true,
  { type: "object", properties: { a: { $ref: "#/nope" } } },
  { allOf: [{ $ref: "https://example.com/schema" }] },
])("jsonSchema(%j) is refused at once", (schema) => {
  expect(() => jsonSchema(schema as unknown as JsonSchema)).toThrow(
    expect.objectContaining({ code: "option_invalid" }),
  );
});

/** A schema as arktype makes them: a function that carries `~standard`, and paths with keys in objects. */
function callable(validation: Schema["~standard"]["validate"]): Schema {
  const standard = {
    version: 1,
    vendor: "other",
    validate: validation,
    jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
  } as const;
  return Object.assign(() => {}, { "~standard": standard });
}

test("a schema of any library that speaks the standard is understood, a function too", async () => {
  const schema = callable((value) =>
    value === 1 ? { value: "one" } : { issues: [{ message: "must be 1.", path: [{ key: "a" }, { key: 0 }, "b"] }] },
  );
  expect(isSchema(schema)).toBe(true);
  expect(await read(schema, 1)).toEqual({ value: "one" });
  expect(await read(schema, { a: [{ b: 2 }] })).toBe("a[0].b: must be 1, got 2");
  expect(await read(schema, { a: [{}] })).toBe("a[0].b: must be 1, got nothing");
});

test("a schema that validates later is waited for, and one that does so at once is not", async () => {
  const late = callable(async (value) => ({ value: [value] }));
  const validated = validate(late, 1);
  expect(validated).toBeInstanceOf(Promise);
  expect(await validated).toEqual({ ok: true, value: [1] });
  expect(validate(people, { people: [] })).toEqual({ ok: true, value: { people: [] } });
});

test("a place that only a prototype has holds nothing", async () => {
  const schema = callable(() => ({ issues: [{ message: "must be text", path: ["toString"] }] }));
  expect(await read(schema, {})).toBe("toString: must be text, got nothing");
});

test.each([
  null,
  undefined,
  1,
  "text",
  {},
  { "~standard": undefined },
  { "~standard": { validate: () => null } },
  () => {},
])("%s is no schema", (value) => {
  expect(isSchema(value)).toBe(false);
});

test("a schema of a library in jsonSchema() is refused: its own fields look like a JSON Schema that takes everything", () => {
  const people = z.object({ name: z.string() });
  for (const schema of [people, z.string(), jsonSchema({ type: "object" })])
    expect(() => jsonSchema(schema as never)).toThrow(
      expect.objectContaining(failing("option_invalid", "use it as it is")),
    );
});

const fieldOf = (schema: object, required?: unknown) => ({ type: "object", properties: { v: schema }, required });

/** What fits a field of the schema, and what does not. */
const FIELDS: readonly (readonly [string, object, readonly unknown[], readonly unknown[]])[] = [
  ["a bound that draft 4 excludes", { minimum: 0, exclusiveMinimum: true }, [0.5], [0]],
  ["one from above", { maximum: 100, exclusiveMaximum: true }, [50], [100]],
  ["one that it includes", { maximum: 1, exclusiveMaximum: false }, [1], [2]],
  ["a tuple of draft 7", { items: [{ type: "number" }], additionalItems: false }, [[1]], [["a"]]],
  ["its other elements", { items: [{}], additionalItems: false }, [[1]], [[1, 2]]],
  ["null as a value", { const: null }, [null], [1]],
  ["numbers and truth values for texts", { type: "string", enum: [1, true] }, ["1", "true"], [1]],
  ["texts for numbers", { type: "integer", enum: ["1", "a"] }, [1], ["1", 2]],
  ["a text for a truth value, or null", { type: ["bool", "null"], const: "true" }, [true], ["true"]],
  ["values of both its types", { type: ["string", "number"], enum: [1, "1"] }, [1, "1"], [2]],
  ["any type", { type: "any" }, ["a", [1]], []],
  ["any type among others", { type: ["string", "any"] }, [1], []],
  ["int", { type: "int" }, [1], [1.5]],
  ["FLOAT or None", { type: ["FLOAT", "None"] }, [1.5, null], ["a"]],
  [
    "str, bool, list and dict",
    { anyOf: "str bool list dict".split(" ").map((type) => ({ type })) },
    ["a", true, [], {}],
    [1],
  ],
];
const asField = (v: unknown) => ({ v });

test.each<readonly [string, object, readonly unknown[], readonly unknown[]]>([
  ...FIELDS.map(
    ([name, schema, fitting, others]) => [name, fieldOf(schema), fitting.map(asField), others.map(asField)] as const,
  ),
  [
    "a reference into a tuple",
    { ...fieldOf({ $ref: "#/definitions/t/items/0" }), definitions: { t: { items: [{ type: "null" }] } } },
    [{ v: null }],
    [{ v: 1 }],
  ],
  ["required in a field", fieldOf({ type: "string", required: true }), [{ v: "a" }], [{}, { v: 1 }]],
  ["required beside it", fieldOf({ required: false }, ["v"]), [{ v: 1 }], [{}]],
  [
    "null for what is absent",
    fieldOf({ type: "string", enum: null, pattern: null, items: null }, null),
    [{ v: "a" }, {}],
    [{ v: 1 }],
  ],
  [
    "dependencies in the words of two drafts",
    {
      dependencies: { a: { required: ["b"] }, c: ["d"] },
      dependentSchemas: { a: { required: ["e"] } },
      dependentRequired: { c: ["f"] },
    },
    [
      { a: 1, b: 1, e: 1 },
      { c: 1, d: 1, f: 1 },
    ],
    [
      { a: 1, b: 1 },
      { a: 1, e: 1 },
      { c: 1, d: 1 },
      { c: 1, f: 1 },
    ],
  ],
  ["an empty list for no fields", { type: "object", properties: [] }, [{ v: 1 }], []],
])("a schema says %s, and its values fit", async (_, schema, fitting, others) => {
  const read = jsonSchema(schema as JsonSchema);
  for (const value of fitting) expect([value, (await validate(read, value)).ok]).toEqual([value, true]);
  for (const value of others) expect([value, (await validate(read, value)).ok]).toEqual([value, false]);
});

test("models and clients read such a schema in the words of today", () => {
  const own = jsonSchema(fieldOf({ type: "list", items: [{ type: "int", minimum: 0, exclusiveMinimum: true }] }));
  expect(own["~standard"].jsonSchema.input({ target: "draft-2020-12" })).toEqual(
    fieldOf({ type: "array", prefixItems: [{ type: "integer", exclusiveMinimum: 0 }] }),
  );
});

const WORDS_OF_NUMBERS =
  "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties";
/** What a comparison would turn into a text or a number: each time anew, in any time, or not at all. */
const NO_NUMBERS: readonly unknown[] = [
  [[0]],
  Array.from({ length: 1000 }, () => 0),
  { toString: 1 },
  "much",
  "1,000",
  { valueOf: 1 },
];

test.each(WORDS_OF_NUMBERS.split(" "))(
  "%s is a number, also written as a text, and anything else is refused",
  async (word) => {
    const contains = word.endsWith("Contains") ? { contains: { type: "integer" } } : {};
    const asText = jsonSchema(fieldOf({ ...contains, [word]: "2" }));
    const asNumber = jsonSchema(fieldOf({ ...contains, [word]: 2 }));
    for (const v of [1, 2, 3, "a", "abc", [], [1], [1, 2, 3], {}, { a: 1, b: 2, c: 3 }])
      expect(await read(asText, { v })).toEqual(await read(asNumber, { v }));
    for (const bound of NO_NUMBERS)
      expect(() => jsonSchema(fieldOf({ [word]: bound }))).toThrow(`/properties/v/${word} is `);
    // For a source and a client, as for a pattern that cannot be checked, the rest of the schema holds.
    const unchecked: string[] = [];
    const schema = fieldOf({ type: "string", [word]: { toString: 1, valueOf: 1 } });
    const stored = storedSchema(schema, { onUnchecked: (why) => void unchecked.push(why) });
    expect(unchecked).toEqual([`/properties/v/${word} is {"toString":1,"valueOf":1}, which is no number`]);
    expect([await read(stored, { v: "abc" }), await read(stored, { v: 1 })]).toEqual([
      { value: { v: "abc" } },
      "v: expected string, got 1",
    ]);
  },
);

test.each([
  [{ $dynamicAnchor: "node", items: { $dynamicRef: "#node" } }, "/properties/v/items/$dynamicRef is a reference that"],
  [
    { $id: "https://x/v", $defs: { a: { type: "string" } }, items: { $ref: "#/$defs/a" } },
    "/properties/v/items/$ref is resolved",
  ],
])("a reference that is not followed as its draft says is told: %j", (v, told) => {
  const schema = { ...fieldOf(v), $defs: { a: {} } };
  expect(() => jsonSchema(schema)).toThrow(told);
  const unchecked: string[] = [];
  storedSchema(schema, { onUnchecked: (why) => void unchecked.push(why) });
  expect(unchecked).toEqual([expect.stringContaining(told)]);
});

test.each([
  ["required", { required: [["a"]] }, "/properties/v/required is "],
  ["required", { required: [{ toString: 1 }] }, "/properties/v/required is "],
  ["dependentRequired", { dependentRequired: { a: [{ toString: 1 }] } }, "/properties/v/dependentRequired/a is "],
  ["type", { type: [{ toString: 1 }] }, "/properties/v/type is "],
  ["a type", { type: "Money" }, '/properties/v/type is "Money", which is no type of JSON'],
])("names in %s are texts", (_, schema, place) => {
  expect(() => jsonSchema(fieldOf(schema as JsonSchema))).toThrow(place);
});

const LONG = "1234567890123456789";
const long = jsonSchema({
  type: "object",
  properties: {
    id: { type: "integer" },
    all: { type: "array", items: { $ref: "#/$defs/id" } },
    either: { type: ["string", "integer"] },
    small: { type: "integer", maximum: 100 },
  },
  additionalProperties: { anyOf: [{ type: "number" }, { type: "null" }] },
  $defs: { id: { type: ["integer", "null"] } },
});

test("the digits of a whole number that no double holds are a number to a schema", async () => {
  const fits = async (value: unknown) => (await validate(long, value)).ok;
  expect(await fits({ id: LONG, all: [LONG, `-${LONG}`, null], either: LONG })).toBe(true);
  for (const id of ["123", "9007199254740992", `0${LONG}`, `${LONG}.5`, ` ${LONG}`])
    expect(await fits({ id })).toBe(false);
  expect(await fits({ small: LONG })).toBe(false);
});

test.each<[object, string, boolean]>([
  [{ maximum: 9007199254740992 }, "9007199254740993", false],
  [{ minimum: -9007199254740992 }, "-9007199254740993", false],
  [{ multipleOf: 2 }, "9007199254740993", false],
  [{ multipleOf: 3 }, "9007199254740993", true],
  [{ enum: ["9007199254740993"] }, "9007199254740993", true],
  [{ enum: [9007199254740992] }, "9007199254740993", false],
  [{ const: 9007199254740992 }, "9007199254740993", false],
  [{ allOf: [{ maximum: 100 }] }, "9007199254740993", false],
  [{ type: undefined, $ref: "#/$defs/integer", maximum: 100 }, "9007199254740993", false],
  [{ type: undefined, if: { type: "integer" }, maximum: 100 }, "9007199254740993", false],
  [{ type: undefined, anyOf: [{ type: "integer" }, { type: "null" }], maximum: 100 }, "9007199254740993", false],
  [{ type: undefined, anyOf: [{ type: "integer" }, { type: "string", maxLength: 3 }] }, "9007199254740993", false],
])("and exactly that number, whichever part says so: %j of %s", async (part, digits, fits) => {
  const { type = "integer", ...others } = { ...part } as { readonly type?: string };
  const id = "type" in part ? others : { type, ...others };
  const more = { allOf: [{ properties: { id: { maximum: 1e30 } } }], $defs: { integer: { type: "integer" } } };
  const schema = jsonSchema({ type: "object", properties: { id }, ...more });
  expect((await validate(schema, { id: digits })).ok).toBe(fits);
  if (fits) expect(JSON.stringify(withWholeNumbers({ id: digits }, schema))).toBe(`{"id":${digits}}`);
});

test("a server is sent them as a number, where its schema takes numbers", () => {
  const sent = (input: object) => JSON.stringify(withWholeNumbers(input, long));
  expect(sent({ id: LONG, all: [LONG, null], either: LONG, more: LONG })).toBe(
    `{"id":${LONG},"all":[${LONG},null],"either":"${LONG}","more":${LONG}}`,
  );
  expect(sent({ id: 1 })).toBe('{"id":1}');
  const account = (kind: string, type: string) => ({ properties: { kind: { const: kind }, account: { type } } });
  const union = jsonSchema({ type: "object", anyOf: [account("iban", "string"), account("own", "integer")] });
  const shown = { kind: "iban", account: LONG };
  expect(withWholeNumbers(shown, union), "a text that a person approved").toEqual(shown);
});
