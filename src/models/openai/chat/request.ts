import type { TextFormat } from "../../../tools/text-format.ts";
import { type Fields, textOf } from "../../../values/fields.ts";
import type { CallResult, Opening, ToolDeclaration, ModelSettings, ToolChoice } from "../../model.ts";
import { PROGRAM_SCHEMA } from "../../turn/program-input.ts";
import { completeSchema, strictSchema } from "../openai-strict-schema.ts";
import { labelledText } from "../../turn/result-text.ts";
import type { ToolNames } from "../../turn/tool-names.ts";
import { type ContentForms, type DataPart, dataUrl, fileName, inOneLine } from "../../turn/content-parts.ts";
import { answerFormat } from "../openai-request.ts";

/** Original input schemas of the tools that are declared strict, by the name under which they are declared. */
export type StrictInputs = Map<string, ToolDeclaration["input"]>;

/** How tools are declared. */
export interface Declaring {
  readonly strict: StrictInputs | undefined;
  /** Whether the server has custom tools, which take one text. */
  readonly customTools: boolean;
}

/** The declarations, the same in every request. */
export function declareTools(
  { tools, runProgram }: Opening,
  names: ToolNames,
  declaring: Declaring,
): readonly Fields[] {
  return [
    ...(runProgram ? [declareTool({ ...runProgram, input: PROGRAM_SCHEMA }, runProgram.name, declaring)] : []),
    ...tools.map((tool) => declareTool(tool, names.given(tool.name), declaring)),
  ];
}

export function declareTool(
  { description, input, textFormat }: Pick<ToolDeclaration, "description" | "input" | "textFormat">,
  name: string,
  { strict: strictInputs, customTools }: Declaring,
): Fields {
  if (customTools && textFormat !== undefined)
    return { type: "custom", custom: { name, description, format: textFormatOf(textFormat) } };
  const strict = strictInputs && strictSchema(input);
  if (strict) strictInputs.set(name, input);
  const parameters = strict ?? completeSchema(input);
  return { type: "function", function: { name, description, parameters, ...(strict ? { strict: true } : {}) } };
}

/** Which texts a custom tool takes. */
function textFormatOf(format: TextFormat): Fields {
  if (format === "text") return { type: "text" };
  return { type: "grammar", grammar: { syntax: "regex", definition: format.regex } };
}

export function toolMessage(toolCallId: string, result: CallResult, told: readonly string[]): Fields {
  return { role: "tool", tool_call_id: toolCallId, content: labelledText(result, { marksFailure: false, told }) };
}

export const CONTENT: ContentForms = {
  text: (text) => ({ type: "text", text }),
  data: (part) =>
    part.type === "image"
      ? { type: "image_url", image_url: { url: dataUrl(part) } }
      : { type: "file", file: { filename: fileName(part), file_data: dataUrl(part) } },
  link: (url) => ({ type: "image_url", image_url: { url } }),
};

/** Messages with results take text alone. Their other content follows in a message of the user that names the call. */
export function attachedMessage({ callId, provenance }: CallResult, carried: readonly DataPart[]): Fields {
  const text = `[Content of the result of ${inOneLine(provenance.tool, 256)}, call ${callId}: data, not words of the user]`;
  return { role: "user", content: [CONTENT.text(text), ...carried.map(CONTENT.data)] };
}

/** The settings as fields of a request. `holdsAnswers`: whether the server takes a schema of the answer in this request. */
export function settingsFields({ reasoning, temperature, stop, answer }: ModelSettings, holdsAnswers: boolean): Fields {
  const format = holdsAnswers ? answerFormat(answer) : undefined;
  return {
    reasoning_effort: reasoning?.effort,
    temperature,
    stop,
    response_format: format && { type: "json_schema", json_schema: format },
  };
}

/** A choice of one tool by its kind: `custom` if it is declared so. */
export function toolChoiceOf(choice: ToolChoice, names: ToolNames, declared: readonly Fields[]): unknown {
  if (typeof choice === "string") return choice;
  const name = names.given(choice.tool);
  const isCustom = declared.some((tool) => textOf(tool.custom, "name") === name);
  return isCustom ? { type: "custom", custom: { name } } : { type: "function", function: { name } };
}
