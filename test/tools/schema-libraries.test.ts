import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { expect, test } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import * as z3 from "zod/v3";
import { createRuntime, fromAiSdk, defineTool, type Schema } from "../../src/index.ts";
import { createMemorySandbox } from "../../src/runtime/testing.ts";
import { INTEGRATIONS } from "../support/integrations.ts";
import { failing } from "../support/failing.ts";

function toolWith(input: unknown, output?: unknown) {
  return defineTool({
    name: "shop.find",
    description: "Finds",
    inputSchema: input as Schema,
    ...(output === undefined ? {} : { outputSchema: output as Schema }),
    allowedCallers: ["programmatic"],
    effect: "read",
    execute: (found) => found,
  });
}

/** Schemas of effect, with what each of its functions adds. */
const effect = INTEGRATIONS
  ? await import("effect").then(({ Schema: Effect }) => {
      const struct = Effect.Struct({ sku: Effect.String, units: Effect.optionalKey(Effect.Number) });
      const validating = Effect.toStandardSchemaV1(struct);
      return {
        validating,
        described: Effect.toStandardJSONSchemaV1(struct),
        both: Effect.toStandardJSONSchemaV1(validating),
      };
    })
  : undefined;

test.each<[string, Schema]>([
  ["zod", z.object({ sku: z.string(), units: z.number().optional() })],
  ["valibot", toStandardJsonSchema(v.object({ sku: v.string(), units: v.optional(v.number()) }))],
  ["arktype", type({ sku: "string", "units?": "number" })],
  ...(effect ? [["effect", effect.both] as [string, Schema]] : []),
])("a program calls a tool whose input and output are schemas of %s", async (_, schema) => {
  await using runtime = await createRuntime({ tools: [toolWith(schema, schema)], sandbox: createMemorySandbox() });
  expect(runtime.declarations()).toMatch(/^tools\.shop\.find\(input: \{ sku: string, units\?: number.*\}\): Promise</);
  const report = await runtime.execute(`
    const seen = [await tools.shop.find({ sku: "K-9", units: 2 })];
    for (const input of [{ sku: 7 }, { sku: "K-9", unit: 2 }])
      seen.push(await tools.shop.find(input).catch(({ code }) => code));
    return seen;
  `);
  expect(report.outcome).toMatchObject({
    type: "completed",
    value: [{ sku: "K-9", units: 2 }, "input_invalid", "input_invalid"],
  });
});

const ADVICE = 'docs/tools-and-callers.md says how schemas of each library are passed ("Schema libraries").';
test.each<[string, unknown, string]>([
  ["valibot alone", v.object({ sku: v.string() }), `this schema of valibot gives no JSON Schema. ${ADVICE}`],
  ...(effect
    ? ([
        ["effect alone", effect.validating, `this schema of effect gives no JSON Schema. ${ADVICE}`],
        ["effect without its validation", effect.described, `this schema of effect does not validate. ${ADVICE}`],
      ] as [string, unknown, string][])
    : []),
  ["zod/mini", mini.object({ sku: mini.string() }), `this schema of zod gives no JSON Schema. ${ADVICE}`],
  ["zod/v3", z3.object({ sku: z3.string() }), `this schema of zod gives no JSON Schema. ${ADVICE}`],
  [
    "a plain JSON Schema",
    { type: "object", properties: {} },
    "this is a plain JSON Schema. Wrap it: jsonSchema(schema).",
  ],
  ["a raw shape", { sku: z.string() }, "expected a schema that can give its JSON Schema (z.object() of zod 4, arktype"],
])("a schema of %s is refused, and it is said what to use", (_, schema, sentence) => {
  const refused = (side: string, said: string) =>
    expect.objectContaining(failing("tool_invalid", `defineTool({ name: "shop.find", ${side} }): ${said}`));
  expect(() => toolWith(schema)).toThrow(refused("inputSchema", sentence));
  expect(() => toolWith(z.object({}), schema)).toThrow(refused("outputSchema", sentence.replace(/ \(z\..*/, "")));
});

test("a tool of the AI SDK whose schema gives no JSON Schema is refused, and not taken for a JSON Schema", () => {
  const find = { inputSchema: v.object({ sku: v.string() }), execute: () => null };
  expect(() => fromAiSdk({ find }, { allowedCallers: ["programmatic"], effect: "read" })).toThrow(
    "this schema of valibot gives no JSON Schema",
  );
});

test("the policy of an adopted tool says whether unknown fields are refused", () => {
  const find = { inputSchema: z.object({ sku: z.string() }), execute: () => null };
  const policy = { allowedCallers: ["programmatic"], effect: "read" } as const;
  expect(fromAiSdk({ find }, policy)[0]?.unknownFields).toBe("refuse");
  expect(fromAiSdk({ find }, { ...policy, unknownFields: "allow" })[0]?.unknownFields).toBe("allow");
});
