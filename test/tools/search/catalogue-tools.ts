import { jsonSchema } from "../../../src/tools/schema.ts";
import type { Tool } from "../../../src/tools/tool.ts";
import { type CatalogueTool, readCatalogue } from "./catalogue.ts";

/** The catalogue as tools for programs. They return their input. */
export function catalogueTools(): readonly Tool[] {
  return readCatalogue().map(toTool);
}

function toTool({ name, description, effect, tags, fields, results }: CatalogueTool): Tool {
  return {
    name,
    description,
    inputSchema: jsonSchema({
      type: "object",
      properties: Object.fromEntries(fields.map(([field, about]) => [field, { type: "string", description: about }])),
    }),
    outputSchema: jsonSchema({
      type: "object",
      properties: Object.fromEntries(results.map((field) => [field, {}])),
    }),
    allowedCallers: ["programmatic"],
    effect,
    tags,
    approvable: false,
    needsApproval: () => false,
    concurrency: Number.POSITIVE_INFINITY,
    timeoutMs: 1000,
    execute: (input) => input,
    onUnknown: "ask",
  };
}
