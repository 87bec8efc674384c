import type { Fields } from "../../values/fields.ts";
import type { CallResult, Opening, ToolDeclaration } from "../model.ts";
import { PROGRAM_SCHEMA } from "../program-input.ts";
import { labelledText } from "../result-text.ts";
import type { ToolNames } from "../tool-names.ts";

/** The declarations, the same in every request. */
export function declareTools({ tools, runProgram }: Opening, names: ToolNames): readonly Fields[] {
  return [
    ...(runProgram ? [declareFunction({ ...runProgram, input: PROGRAM_SCHEMA }, runProgram.name)] : []),
    ...tools.map((tool) => declareFunction(tool, names.given(tool.name))),
  ];
}

export function declareFunction(
  { description, input }: Pick<ToolDeclaration, "description" | "input">,
  name: string,
): Fields {
  return { type: "function", function: { name, description, parameters: input } };
}

/** The message that carries the result of a call. */
export function toolMessage(toolCallId: string, result: CallResult): Fields {
  return { role: "tool", tool_call_id: toolCallId, content: labelledText(result) };
}
