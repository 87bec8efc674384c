import { jsonSchemaOf } from "../tool-schemas.ts";
import type { Tool } from "../tool.ts";

const fields = new WeakMap<Tool, string | undefined>();

/** For each tool whose input has exactly one required field, the name of that field: a positional argument gives its value. */
export function positionalFields(tools: readonly Tool[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    tools.flatMap((tool) => {
      const field = positionalField(tool);
      return field === undefined ? [] : [[tool.name, field]];
    }),
  );
}

function positionalField(tool: Tool): string | undefined {
  if (!fields.has(tool)) fields.set(tool, onlyRequired(jsonSchemaOf(tool.name, "input", tool.input)));
  return fields.get(tool);
}

/** Schemas come from other libraries and servers, so every part of them may have any type. */
function onlyRequired(schema: Readonly<Record<string, unknown>>): string | undefined {
  const required = Object.hasOwn(schema, "required") ? schema.required : undefined;
  const [field, ...others]: readonly unknown[] = Array.isArray(required) ? required : [];
  return typeof field === "string" && others.length === 0 ? field : undefined;
}
