import { expect, test } from "vitest";
import { z } from "zod";
import { arraySchema } from "../../src/tools/array-schema.ts";
import type { JsonSchema } from "../../src/tools/json-schema/json-schema.ts";
import { jsonSchema, type Schema, validate } from "../../src/tools/schema.ts";

const text = { type: "string" };

test.each<[string, JsonSchema, JsonSchema]>([
  ["a dialect", { $schema: "d", ...text }, { $schema: "d", type: "array", items: text }],
  [
    "definitions, which move to the root",
    { properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: text }, definitions: { b: { $ref: "#/definitions/c" } } },
    {
      type: "array",
      items: { properties: { a: { $ref: "#/$defs/a" } } },
      $defs: { a: text },
      definitions: { b: { $ref: "#/definitions/c" } },
    },
  ],
  [
    "references to the item and to its parts",
    { properties: { a: { anyOf: [{ $ref: "#" }, { $ref: "#/properties/b" }] } }, $defs: { c: { $ref: "#" } } },
    {
      type: "array",
      items: { properties: { a: { anyOf: [{ $ref: "#/items" }, { $ref: "#/items/properties/b" }] } } },
      $defs: { c: { $ref: "#/items" } },
    },
  ],
  [
    "names and values that look like references",
    { properties: { $ref: text, const: { $ref: "#" } }, default: { $ref: "#" }, enum: [{ $ref: "#" }] },
    {
      type: "array",
      items: { properties: { $ref: text, const: { $ref: "#/items" } }, default: { $ref: "#" }, enum: [{ $ref: "#" }] },
    },
  ],
  [
    "a schema with an address of its own",
    { $id: "https://a.example/x", properties: { a: { $ref: "#" } }, $defs: {} },
    { type: "array", items: { $id: "https://a.example/x", properties: { a: { $ref: "#" } }, $defs: {} } },
  ],
])("%s", (_, item, expected) => {
  const before = structuredClone(item);
  expect(arraySchema(item)).toEqual(expected);
  expect(item).toEqual(before);
});

test("a list fits if each item fits, also for schemas that refer to themselves", async () => {
  const tree: Schema = z.object({
    name: z.string(),
    get parts() {
      return z.array(tree as never).optional();
    },
  });
  const list = jsonSchema(arraySchema(tree["~standard"].jsonSchema.output({ target: "draft-2020-12" })));
  expect(await validate(list, [{ name: "a", parts: [{ name: "b" }] }, { name: "c" }])).toMatchObject({ ok: true });
  expect(await validate(list, [{ name: "a", parts: [{ name: 1 }] }])).toMatchObject({
    ok: false,
    issues: [{ path: "[0].parts[0].name" }],
  });
});
