import { textIn } from "../../tools/text-format.ts";
import type { ModelCall, Opening, ToolCall } from "../model.ts";
import { inputOf } from "./program-input.ts";

/** Names of the tools whose input is one text. */
export function textToolsOf({ tools, deferred = [] }: Pick<Opening, "tools" | "deferred">): ReadonlySet<string> {
  const texts = [...tools, ...deferred].filter(({ textFormat }) => textFormat !== undefined);
  return new Set(texts.map(({ name }) => name));
}

/** A call with its text alone as input, if its provider has only functions and the text stands in their one field. */
export function withBareText(textTools: ReadonlySet<string>, call: ModelCall): ModelCall {
  if (call.type !== "tool_call" || !textTools.has(call.tool)) return call;
  const text = textIn(inputOf(call.inputText));
  return text === undefined ? call : { ...call, inputText: JSON.stringify(text) };
}

/** What a model wrote as input, without the JSON around a text. */
export function shownInput(textTools: ReadonlySet<string>, { tool, inputText }: ToolCall): string {
  const text = textTools.has(tool) ? textIn(inputOf(inputText)) : undefined;
  return text ?? inputText;
}
