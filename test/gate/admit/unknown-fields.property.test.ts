import * as fc from "fast-check";
import { expect, test } from "vitest";
import { readInput } from "../../../src/gate/admit/read-input.ts";
import type { JsonSchema } from "../../../src/tools/json-schema/json-schema.ts";
import { jsonSchema } from "../../../src/tools/schema.ts";
import { runs } from "../../support/all-tests.ts";

/** A schema with a value that fits it and has only fields that it knows. */
interface Example {
  /** Adds what it refers to to `defs`. */
  readonly schema: (defs: Record<string, JsonSchema>) => JsonSchema;
  readonly value: unknown;
}

const name = fc.constantFrom("id", "name", "toString", "constructor", "a b", "min", "kids", "7");

/** Objects of named fields, alone, in lists, behind references, as alternatives, and put together from two. */
function examplesWith(more: readonly fc.Arbitrary<Example>[]): fc.Arbitrary<Example> {
  return fc.letrec<{ any: Example; object: Example }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 4, depthSize: "small" },
      fc.constant<Example>({ schema: () => ({ type: "string" }), value: "x" }),
      tie("object"),
      fc.tuple(tie("any"), fc.nat(3)).map(([one, length]): Example => ({
        schema: (defs) => ({ type: "array", items: one.schema(defs) }),
        value: Array.from({ length }, () => structuredClone(one.value)),
      })),
      ...more,
    ),
    object: fc.oneof(
      { maxDepth: 5, depthSize: "small" },
      fc.dictionary(name, tie("any"), { maxKeys: 4, noNullPrototype: true }).map((fields): Example => ({
        schema: (defs) => ({
          type: "object",
          properties: mapFields(fields, (field) => field.schema(defs)),
          required: Object.keys(fields).filter((_, index) => index % 2 === 0),
        }),
        value: mapFields(fields, ({ value }) => value),
      })),
      tie("object").map(({ schema, value }): Example => ({
        schema(defs) {
          const key = `d${Object.keys(defs).length}`;
          defs[key] = {};
          defs[key] = schema(defs);
          return { $ref: `#/$defs/${key}` };
        },
        value,
      })),
      fc.tuple(tie("object"), tie("object"), fc.constantFrom("anyOf", "oneOf")).map(([one, other, word]): Example => ({
        schema: (defs) => ({
          [word]: [
            { allOf: [tagged("one"), one.schema(defs)] },
            { allOf: [tagged("other"), other.schema(defs)] },
            { type: "null" },
          ],
        }),
        value: { ...(one.value as object), tag: "one" },
      })),
      fc.tuple(tie("object"), tie("object")).map(([one, other]): Example => ({
        schema: (defs) => ({
          allOf: [{ properties: { left: one.schema(defs) } }, { properties: { right: other.schema(defs) } }],
        }),
        value: { left: one.value, right: other.value },
      })),
    ),
  })).object;
}

function tagged(tag: string): JsonSchema {
  return { properties: { tag: { const: tag } }, required: ["tag"] };
}

function mapFields<Field, Value>(fields: Record<string, Field>, map: (field: Field) => Value): Record<string, Value> {
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, map(field)]));
}

const record: fc.Arbitrary<Example> = fc.constantFrom<Example>(
  { schema: () => ({ type: "object", additionalProperties: { type: "number" } }), value: { any: 1, other: 2 } },
  {
    schema: () => ({ type: "object", properties: { a: {} }, additionalProperties: true }),
    value: { a: { b: 1 }, c: 2 },
  },
  { schema: () => ({ type: "object", patternProperties: { "^x-": { type: "string" } } }), value: { "x-y": "z" } },
  { schema: () => ({}), value: { deep: [{ er: 1 }] } },
  { schema: () => ({ type: "object" }), value: { some: 1 } },
);

function read({ schema }: Example, value: unknown) {
  const defs: Record<string, JsonSchema> = {};
  const root = { type: "object", properties: { root: schema(defs) }, $defs: defs };
  return readInput({ name: "t", inputSchema: jsonSchema(root) }, JSON.stringify({ root: value }), 40_000) as Awaited<
    ReturnType<typeof readInput>
  >;
}

test("an input of known fields is never refused, and stays as it is", () => {
  fc.assert(
    fc.property(examplesWith([record]), (example) => {
      expect(read(example, example.value)).toEqual({ ok: true, value: { root: example.value } });
    }),
    { numRuns: runs(2000) },
  );
});

function objectsIn(value: unknown): Record<string, unknown>[] {
  if (typeof value !== "object" || value === null) return [];
  const inside = Object.values(value).flatMap(objectsIn);
  return Array.isArray(value) ? inside : [value as Record<string, unknown>, ...inside];
}

test("a field with an unknown name is always refused by that name, wherever it stands", { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(
      examplesWith([]),
      fc.nat(),
      fc.stringMatching(/^z[a-z]{3,12}$/),
      fc.constantFrom(null, 1, "x", {}, [{ id: 1 }]),
      (example, at, extra, carried) => {
        const value = structuredClone(example.value);
        const places = objectsIn(value);
        (places[at % places.length] as Record<string, unknown>)[extra] = carried;
        const refused = { ok: false, reason: expect.stringContaining(`.${extra} is not a field of t`) as string };
        expect(read(example, value)).toMatchObject(refused);
      },
    ),
    { numRuns: runs(2000) },
  );
});
