import { type Fields, isFields, measure, parsedJson, PLAIN_DEPTH, textOf } from "../../base/index.ts";
import { textIn } from "../../tools/text-format.ts";
import type { ModelCall, ToolCall, ToolDeclaration } from "../model.ts";

/** Longest input of a call that is parsed here, in UTF-16 code units, and its most values. The gate checks inputs itself. */
const INPUT_LENGTH = 4 * 1024 * 1024;
const INPUT_VALUES = 65_536;

/** Input schema of the tool for programs, for providers whose tools take JSON. */
export const PROGRAM_SCHEMA = {
  type: "object",
  properties: { code: { type: "string", description: "the program's source" } },
  required: ["code"],
  additionalProperties: false,
} as const;

/** The input that a model wrote as JSON; undefined for a text that is no JSON or far too large. */
export function inputOf(text: string): unknown {
  return isTooLarge(text) ? undefined : parsedJson(text);
}

function isTooLarge(text: string): boolean {
  if (text.length > INPUT_LENGTH) return true;
  const { depth, values } = measure(text);
  return depth > PLAIN_DEPTH || values > INPUT_VALUES;
}

/** How models, and the languages of servers, write no input. */
const NOTHING: ReadonlySet<string> = new Set(["", "null", '""', "[]"]);

/** The input of a call of a tool that takes fields: one that says nothing is the empty one. */
function writtenInput(text: string): string {
  return NOTHING.has(text.trim()) ? "{}" : text;
}

/** What goes back as the input of a call. Servers that parse the history refuse every later request for less than an object. */
export function inputSentBack(text: string): string {
  const written = writtenInput(text);
  return isTooLarge(written) || isFields(parsedJson(written)) ? written : JSON.stringify({ unreadable_input: text });
}

export function objectSentBack(input: unknown): Fields {
  if (isFields(input)) return input;
  const back = inputOf(inputSentBack(typeof input === "string" ? input : (JSON.stringify(input) ?? "")));
  return isFields(back) ? back : {};
}

/** The text of an input that is an object in its protocol: some servers send the text. */
export function textOfInput(input: unknown): string {
  return typeof input === "string" && isFields(inputOf(input)) ? input : JSON.stringify(input ?? {});
}

/** The source in the JSON input of the tool for programs; undefined if there is none. */
export function sourceOf(inputText: string): string | undefined {
  return textOf(inputOf(inputText), "code");
}

export type ToolsByName = ReadonlyMap<string, ToolDeclaration>;

/**
 * A call with the input that its tool takes: the text alone of a text tool, if its provider has only functions and the text
 * stands in their one field.
 */
export function withToolInput(tools: ToolsByName, call: ModelCall): ModelCall {
  if (call.type !== "tool_call") return call;
  if (tools.get(call.tool)?.textFormat === undefined) return { ...call, inputText: writtenInput(call.inputText) };
  const text = textIn(inputOf(call.inputText));
  return text === undefined ? call : { ...call, inputText: JSON.stringify(text) };
}

export function shownCallInput(tools: ToolsByName, { tool, inputText }: ToolCall): string {
  return (tools.get(tool)?.textFormat && textIn(inputOf(inputText))) ?? inputText;
}
