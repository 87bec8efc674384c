import { expect, test } from "vitest";
import { z } from "zod";
import type { JsonSchema } from "../../src/tools/json-schema/json-schema.ts";
import { jsonSchema, type Schema } from "../../src/tools/schema.ts";
import { resultSchemaOf } from "../../src/executions/drive/ending/result-schema.ts";
import { inputSchemaOf } from "../../src/tools/tool-schemas.ts";
import { makeTool } from "../gate/open-session.ts";
import { INTEGRATIONS } from "../support/integrations.ts";

function told(input: Schema, unknownFields: "refuse" | "allow" = "refuse"): JsonSchema {
  const { $schema: _, ...schema } = inputSchemaOf(makeTool<Schema>({ inputSchema: input, unknownFields }));
  return schema;
}

const object = (properties: JsonSchema, more: JsonSchema = {}): JsonSchema => ({ type: "object", properties, ...more });
const closed = { additionalProperties: false };
const text = { type: "string" };

test.each<[string, JsonSchema, JsonSchema]>([
  ["an object", object({ a: text }), object({ a: text }, closed)],
  [
    "objects in fields and lists",
    object({ a: { type: "array", items: object({ b: object({ c: text }) }) } }),
    object({ a: { type: "array", items: object({ b: object({ c: text }, closed) }, closed) } }, closed),
  ],
  [
    "each alternative",
    object({ a: { anyOf: [object({ b: text }), object({ c: text })] } }),
    object({ a: { anyOf: [object({ b: text }, closed), object({ c: text }, closed)] } }, closed),
  ],
  [
    "what references lead to",
    object({ a: { $ref: "#/$defs/a" } }, { $defs: { a: object({ b: text }) } }),
    object({ a: { $ref: "#/$defs/a" } }, { $defs: { a: object({ b: text }, closed) }, ...closed }),
  ],
  [
    "names that are words of JSON Schema, and values",
    object({ properties: object({ type: text }), b: { default: object({}) } }),
    object({ properties: object({ type: text }, closed), b: { default: object({}) } }, closed),
  ],
  [
    "parts beside a test of another part",
    object({ a: { ...text, not: { const: "" } }, b: object({ c: text }) }),
    object({ a: { ...text, not: { const: "" } }, b: object({ c: text }, closed) }, closed),
  ],
])("models are told that no other fields are taken: %s", (_, schema, expected) => {
  expect(told(jsonSchema(schema))).toEqual(expected);
});

test.each<[string, JsonSchema]>([
  ["an open object", object({ a: text }, { additionalProperties: true })],
  ["a record", { type: "object", additionalProperties: text }],
  ["an object without named fields", { type: "object" }],
  ["parts of allOf", { type: "object", allOf: [object({ a: text }), object({ b: text })] }],
  ["an object beside a reference", object({ a: text }, { $ref: "#/$defs/b", $defs: { b: object({ b: text }) } })],
  ["an object beside alternatives", object({ a: text }, { anyOf: [object({ b: text }), { required: ["a"] }] })],
  ["a part that is only tested", { type: "object", not: object({ a: object({ b: text }) }) }],
])("a part stays as it is where closing it would refuse what is taken: %s", (_, schema) => {
  expect(told(jsonSchema(schema))).toEqual(schema);
});

test("a tool that passes unknown fields on does not tell models that it refuses them", () => {
  expect(told(z.object({ a: z.string() }), "allow")).not.toHaveProperty("additionalProperties");
  expect(told(z.object({ a: z.string() }))).toMatchObject(closed);
  expect(told(z.looseObject({ a: z.string() }))).toMatchObject({ additionalProperties: {} });
});

test.skipIf(!INTEGRATIONS)(
  "effect says of every struct that it is open, and models are told what the gate does",
  async () => {
    const { Schema: Effect } = await import("effect");
    const struct = Effect.Struct({ a: Effect.Struct({ b: Effect.String }) });
    const schema = Effect.toStandardJSONSchemaV1(Effect.toStandardSchemaV1(struct));
    expect(told(schema)).toMatchObject({ ...closed, properties: { a: closed } });
  },
);

test.each([
  ["input", "inputSchema"],
  ["output", "outputSchema"],
] as const)(
  "a schema of a library that is nested thirty thousand levels deep is refused by a sentence, as the %s of a tool",
  (side, option) => {
    const deep = Array.from({ length: 30_000 }, () => 0).reduce<JsonSchema>((inner) => object({ a: inner }), text);
    expect(() => makeTool<Schema, Schema>({ [option]: foreign(deep) })).toThrow(`${side} has no JSON Schema`);
    expect(() => resultSchemaOf(foreign(deep), "execute({ result })")).toThrow(
      "execute({ result }) has no JSON Schema",
    );
  },
);

/** A schema of another library. */
function foreign(json: JsonSchema): Schema {
  const jsonSchema = { input: () => json, output: () => json };
  return { "~standard": { version: 1, vendor: "other", validate: (value) => ({ value }), jsonSchema } };
}
