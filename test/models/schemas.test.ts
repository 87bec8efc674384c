import { expect, test } from "vitest";
import { strictSchema, withoutNulls } from "../../src/models/openai/openai-strict-schema.ts";

const object = (properties: object, ...required: string[]) => ({ type: "object", properties, required });

test.each([
  object({ a: { allOf: [] } }),
  object({ a: { type: "object", additionalProperties: { type: "string" } } }),
  object({ a: true as never }),
  { type: "object" },
  { ...object({ a: { type: "string" } }), anyOf: [object({})] },
  object({ a: { type: "string", format: "uri" } }),
  object({ a: { type: "string", minLength: 1 } }),
  object({ a: { type: ["object", "null"], properties: {} } }),
])("a schema that strict mode cannot express is not made strict: %j", (schema) => {
  expect(strictSchema(schema)).toBeUndefined();
});

test("a schema whose null could not be told from an absent field is not made strict", () => {
  const optional = object({ b: { type: "number" } });
  const required = object({ b: { type: "number" } }, "b");
  const either = (one: object) => object({ a: { anyOf: [one, { type: "string" }] } });
  const referring = (one: object) => ({ ...object({ a: { $ref: "#/$defs/one" } }), $defs: { one } });
  expect([either, referring].map((within) => strictSchema(within(optional)))).toEqual([undefined, undefined]);
  expect(strictSchema(object({ child: { $ref: "#" } }))).toBeUndefined();
  for (const within of [either, referring]) expect(strictSchema(within(required))).toBeDefined();
});

test("a null for an absent field is removed, and one that the tool takes or must refuse is kept", () => {
  const schema = object(
    {
      gone: { type: "string" },
      taken: { type: ["string", "null"] },
      told: { type: "string" },
      list: { type: "array", items: object({ gone: { type: "number" } }) },
    },
    "told",
  );
  const input = { gone: null, taken: null, told: null, other: null, list: [{ gone: null }, { gone: 1 }] };
  expect(JSON.parse(withoutNulls(JSON.stringify(input), schema))).toEqual({
    taken: null,
    told: null,
    other: null,
    list: [{}, { gone: 1 }],
  });
  expect(withoutNulls("{", schema)).toBe("{");
});
