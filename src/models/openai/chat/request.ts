import { type Fields, textOf } from "../../../values/fields.ts";
import type { CallResult, ModelSettings, ToolChoice } from "../../model.ts";
import { labelledText } from "../../turn/result-text.ts";
import type { ToolNames } from "../../turn/tool-names.ts";
import { type ContentForms, type DataPart, dataUrl, fileName, inOneLine } from "../../turn/content-parts.ts";
import { answerFormat } from "../openai-request.ts";

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
  if (typeof choice === "string") return choice === "auto" ? undefined : choice;
  const name = names.given(choice.tool);
  const isCustom = declared.some((tool) => textOf(tool.custom, "name") === name);
  return isCustom ? { type: "custom", custom: { name } } : { type: "function", function: { name } };
}
