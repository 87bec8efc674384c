import { countTokens } from "../../../tools/count-tokens.ts";
import { needsApprovalAlways, type Tool } from "../../../tools/tool.ts";
import { inputSchemaOf } from "../../../tools/tool-schemas.ts";

/** Tokens of a tool in the form that providers take for direct calls. */
export function directTokens(tool: Tool): number {
  const { $schema: _, ...schema } = inputSchemaOf(tool);
  return declarationTokens(tool.name, tool.description, schema);
}

export function declarationTokens(name: string, description: string, schema: object): number {
  return countTokens(JSON.stringify({ name, description, input_schema: schema }));
}

/** Whether calls of a tool need approval, as lists of tools say it. */
export function approvalText({ approvable, needsApproval }: Tool): string {
  if (!approvable) return "never";
  return needsApproval === needsApprovalAlways ? "always" : "by input";
}

/** What a call of a tool changes at most. */
export function effectText({ effect, effectOf }: Tool): string {
  return effectOf ? "by input" : effect;
}
