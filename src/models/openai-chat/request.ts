import type { Fields } from "../../values/fields.ts";
import type { CallResult, Opening, ToolDeclaration } from "../model.ts";
import { PROGRAM_SCHEMA } from "../program-input.ts";
import { strictSchema } from "../openai-strict-schema.ts";
import { labelledText } from "../result-text.ts";
import type { ToolNames } from "../tool-names.ts";

/** Original input schemas of the tools that are declared strict, by the name under which they are declared. */
export type StrictInputs = Map<string, ToolDeclaration["input"]>;

/** The declarations, the same in every request. */
export function declareTools(
  { tools, runProgram }: Opening,
  names: ToolNames,
  strict: StrictInputs | undefined,
): readonly Fields[] {
  return [
    ...(runProgram ? [declareFunction({ ...runProgram, input: PROGRAM_SCHEMA }, runProgram.name, strict)] : []),
    ...tools.map((tool) => declareFunction(tool, names.given(tool.name), strict)),
  ];
}

export function declareFunction(
  { description, input }: Pick<ToolDeclaration, "description" | "input">,
  name: string,
  strictInputs: StrictInputs | undefined,
): Fields {
  const strict = strictInputs && strictSchema(input);
  if (strict) strictInputs.set(name, input);
  const parameters = strict ?? input;
  return { type: "function", function: { name, description, parameters, ...(strict ? { strict: true } : {}) } };
}

/** The message that carries the result of a call. */
export function toolMessage(toolCallId: string, result: CallResult, told: readonly string[]): Fields {
  return { role: "tool", tool_call_id: toolCallId, content: labelledText(result, told) };
}
