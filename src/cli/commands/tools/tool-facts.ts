import { countTokens } from "../../../tools/count-tokens.ts";
import type { Tool } from "../../../tools/tool.ts";
import type { ToolFacts } from "../../../tools/tool-facts.ts";
import { inputSchemaOf } from "../../../tools/tool-schemas.ts";

/** Tokens of a tool in the form that providers take for direct calls. */
export function directTokens(tool: Tool): number {
  const { $schema: _, ...schema } = inputSchemaOf(tool);
  return declarationTokens(tool.name, tool.description, schema);
}

export function declarationTokens(name: string, description: string, schema: object): number {
  return countTokens(JSON.stringify({ name, description, input_schema: schema }));
}

export const FACT_COLUMNS = ["tool", "callers", "effect", "approval", "runs"];

/** What lists say of a tool, for the columns of a table. */
export function factCells({ name, callers, effect, approval, place }: ToolFacts): readonly string[] {
  return [name, callers.join(", "), effect, approval, place];
}
