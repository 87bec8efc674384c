import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool, jsonSchema, type JsonSchema } from "../../../src/index.ts";
import type { Schema } from "../../../src/tools/schema.ts";
import { positionalFields } from "../../../src/executions/guest/guest-event.ts";

const takes = (name: string, input: Schema) =>
  defineTool({
    name,
    description: name,
    inputSchema: input,
    allowedCallers: ["programmatic"],
    effect: "read",
    execute: () => null,
  });
const takesJson = (name: string, schema: JsonSchema) => takes(name, jsonSchema({ type: "object", ...schema }));

test("a tool's only required field is what a positional argument stands for, and a field with a default is not required", () => {
  const tools = [
    takes("one", z.object({ id: z.number(), limit: z.number().optional(), order: z.string().default("asc") })),
    takes("two", z.object({ id: z.number(), name: z.string() })),
    takes("none", z.object({ limit: z.number().optional() })),
  ];
  expect(positionalFields(tools)).toEqual({ one: "id" });
});

test("required fields and tools of any name, and those without a schema, are taken as they are called", () => {
  const fields = positionalFields([
    takesJson("proto", { required: ["__proto__"] }),
    takesJson("text", { properties: { id: {} } }),
    takesJson("__proto", { required: ["constructor"] }),
  ]);
  expect(Object.entries(fields)).toEqual([
    ["proto", "__proto__"],
    ["__proto", "constructor"],
  ]);
  expect(JSON.parse(JSON.stringify(fields))).toEqual(fields);
});
