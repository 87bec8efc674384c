import { expect, test } from "vitest";
import { z } from "zod";
import { PortcullisError } from "../../src/base/index.ts";
import { defineTool, type ToolOptions } from "../../src/tools/define-tool.ts";
import { jsonSchemaOf } from "../../src/tools/tool-schemas.ts";
import { type Schema } from "../../src/tools/schema.ts";

const options = {
  name: "crm.find",
  description: "Finds people",
  inputSchema: z.object({ id: z.string() }),
  allowedCallers: ["programmatic"],
  effect: "read",
  execute: () => null,
} as const;

/** The message of the `tool_invalid` that these options are refused with. */
function refusal(changes: Readonly<Record<string, unknown>>): string {
  try {
    const changed: unknown = { ...options, ...changes };
    defineTool(changed as ToolOptions<Schema>);
  } catch (error) {
    expect(PortcullisError.is(error) && error.code).toBe("tool_invalid");
    return (error as Error).message;
  }
  return "none";
}

test.each<[string, unknown]>([
  ["an async generator", async function* () {}],
  ["a generator", function* () {}],
  ["a function that returns a list", () => [1]],
  ["an async function that returns a list", async () => [1]],
])("%s may be the handler of a stream", (_, handler) => {
  expect(refusal({ stream: true, execute: handler })).toBe("none");
});

test("a tool does not change after it was defined, nor with the list of callers it was given", () => {
  const allowedCallers: ("direct" | "programmatic")[] = ["direct"];
  const tool = defineTool({ ...options, allowedCallers });
  allowedCallers.push("programmatic");
  expect(tool.allowedCallers).toEqual(["direct"]);
  expect(Object.isFrozen(tool) && Object.isFrozen(tool.allowedCallers)).toBe(true);
});

test("the JSON Schema of an input is what may be sent, that of an output what programs get", () => {
  const schema = z.object({ page: z.number().default(1) });
  expect(jsonSchemaOf("t", "input", schema)).not.toHaveProperty("required");
  expect(jsonSchemaOf("t", "output", schema)).toMatchObject({ required: ["page"] });
});
