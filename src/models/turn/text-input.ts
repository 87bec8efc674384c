import { textIn } from "../../tools/text-format.ts";
import type { ModelCall, Opening, ToolCall } from "../model.ts";
import { inputOf, writtenInput } from "./program-input.ts";

export function textToolsOf({ tools, deferred = [] }: Pick<Opening, "tools" | "deferred">): ReadonlySet<string> {
  const texts = [...tools, ...deferred].filter(({ textFormat }) => textFormat !== undefined);
  return new Set(texts.map(({ name }) => name));
}

/**
 * A call with the input that its tool takes: the text alone of a text tool, if its provider has only functions and the text
 * stands in their one field.
 */
export function withToolInput(textTools: ReadonlySet<string>, call: ModelCall): ModelCall {
  if (call.type !== "tool_call") return call;
  if (!textTools.has(call.tool)) return { ...call, inputText: writtenInput(call.inputText) };
  const text = textIn(inputOf(call.inputText));
  return text === undefined ? call : { ...call, inputText: JSON.stringify(text) };
}

export function shownInput(textTools: ReadonlySet<string>, { tool, inputText }: ToolCall): string {
  const text = textTools.has(tool) ? textIn(inputOf(inputText)) : undefined;
  return text ?? inputText;
}
