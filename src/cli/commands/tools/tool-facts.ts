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

/** Who may call a tool, what a call changes at most, and whether calls need approval, as lists of tools say it. */
export function toolFacts(tool: Tool) {
  const { name, allowedCallers: callers, effect, effectOf } = tool;
  return { name, callers, effect: effectOf ? "by input" : effect, approval: approvalText(tool) };
}

/** The same for the columns of a table. */
export function factCells({ name, callers, effect, approval }: ReturnType<typeof toolFacts>): readonly string[] {
  return [name, callers.join(", "), effect, approval];
}

function approvalText({ approvable, needsApproval }: Tool): string {
  if (!approvable) return "never";
  return needsApproval === needsApprovalAlways ? "always" : "by input";
}
