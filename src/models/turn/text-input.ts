import { textIn } from "../../tools/text-format.ts";
import { parsedJson } from "../../values/json/json-text.ts";
import type { ModelCall, Opening, ToolCall } from "../model.ts";

/** Whether the input of a tool is one text. */
export function isTextTool({ tools, deferred = [] }: Pick<Opening, "tools" | "deferred">, tool: string): boolean {
  return [tools, deferred].some((all) => all.some(({ name, textFormat }) => name === tool && textFormat !== undefined));
}

/** A call with its text alone as input, if its provider has only functions and the text stands in their one field. */
export function withBareText(opening: Opening, call: ModelCall): ModelCall {
  if (call.type !== "tool_call" || !isTextTool(opening, call.tool)) return call;
  const text = textIn(parsedJson(call.inputText));
  return text === undefined ? call : { ...call, inputText: JSON.stringify(text) };
}

/** What a model wrote as input, without the JSON around a text. */
export function shownInput(opening: Opening, { tool, inputText }: ToolCall): string {
  const text = isTextTool(opening, tool) ? textIn(parsedJson(inputText)) : undefined;
  return text ?? inputText;
}
