import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/tools/define-tool.ts";
import { gatheredForm } from "../../src/tools/gathered-form.ts";
import { jsonSchemaOf, outputSchemaOf } from "../../src/tools/tool-schemas.ts";
import { makeTool } from "../gate/open-session.ts";

const base = {
  name: "t",
  description: "Gives items",
  input: z.object({}),
  allowedCallers: ["direct"],
  effect: "read",
  stream: true,
  handler: () => [],
} as const;

test("a caller that reads no streams sees a tool whose result is an array, the same tool each time", () => {
  const tool = defineTool({ ...base, output: z.object({ id: z.string() }) });
  const form = gatheredForm(tool);
  expect(form.stream).toBeUndefined();
  expect(form.output && jsonSchemaOf("t", "output", form.output)).toEqual(outputSchemaOf(tool));
  expect(outputSchemaOf(tool)).toMatchObject({ type: "array", items: { type: "object", required: ["id"] } });
  expect(gatheredForm(tool)).toBe(form);
});

test("items of any kind make an array of any items, and a tool that does not stream stays as it is", () => {
  expect(outputSchemaOf(defineTool(base))).toEqual({ type: "array", items: {} });
  const plain = makeTool({ output: z.string() });
  expect(gatheredForm(plain)).toBe(plain);
  expect(outputSchemaOf(plain)).toMatchObject({ type: "string" });
  expect(outputSchemaOf(makeTool())).toBeUndefined();
});
