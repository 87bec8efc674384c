import type { Fields } from "../../../values/fields.ts";
import type { CallResult, Opening, ToolDeclaration, ModelSettings, ToolChoice } from "../../model.ts";
import { PROGRAM_SCHEMA } from "../../turn/program-input.ts";
import { strictSchema } from "../openai-strict-schema.ts";
import { labelledText } from "../../turn/result-text.ts";
import type { ToolNames } from "../../turn/tool-names.ts";
import { answerFormat } from "../openai-answer.ts";

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
  return { role: "tool", tool_call_id: toolCallId, content: labelledText(result, { marksFailure: false, told }) };
}

/** The settings as fields of a request. `holdsAnswers`: whether the server takes a schema of the answer in this request. */
export function settingsFields({ reasoning, temperature, stop, answer }: ModelSettings, holdsAnswers: boolean): Fields {
  const format = answer === undefined || !holdsAnswers ? undefined : answerFormat(answer);
  return {
    ...(reasoning?.effort === undefined ? {} : { reasoning_effort: reasoning.effort }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(stop === undefined ? {} : { stop }),
    ...(format ? { response_format: { type: "json_schema", json_schema: format } } : {}),
  };
}

/** The choice among tools, of a request that declares some. */
export function callFields(choice: ToolChoice, { parallelCalls = true }: ModelSettings, names: ToolNames): Fields {
  return {
    ...(choice === "auto" ? {} : { tool_choice: toolChoiceOf(choice, names) }),
    ...(parallelCalls ? {} : { parallel_tool_calls: false }),
  };
}

function toolChoiceOf(choice: ToolChoice, names: ToolNames): unknown {
  if (typeof choice === "string") return choice;
  return { type: "function", function: { name: names.given(choice.tool) } };
}
