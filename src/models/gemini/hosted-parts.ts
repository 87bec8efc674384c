import { fieldOf, type Fields, isFields, listOf, textOf } from "../../values/fields.ts";
import type { HostedNews } from "../model.ts";
import { hostedEnd, hostedStart } from "../turn/hosted-calls.ts";

/** What Gemini ran itself: the calls among the parts, or a search of which only the grounding tells. `turn` makes ids. */
export function hostedNews(parts: readonly Fields[], grounding: unknown, turn: number): readonly HostedNews[] {
  let begun = "";
  const told = parts.flatMap((part, place) => {
    // A result without an id belongs to the call before it.
    if (isFields(part.toolCall) || isFields(part.executableCode)) begun = `hosted_${turn}_${place}`;
    return newsOf(part, begun);
  });
  const queries = listOf(grounding, "webSearchQueries");
  if (told.length > 0 || queries.length === 0) return told;
  const call = { call: `hosted_${turn}`, tool: "google_search", input: { queries } };
  return [hostedStart(call), hostedEnd(call, { isError: false, sources: citationsIn(grounding) })];
}

function newsOf(part: Fields, made: string): readonly HostedNews[] {
  const { toolCall, toolResponse, executableCode, codeExecutionResult } = part;
  if (isFields(toolCall))
    return [
      hostedStart({
        call: textOf(toolCall, "id") ?? made,
        tool: toolName(toolCall),
        input: fieldOf(toolCall, "args") ?? {},
      }),
    ];
  if (isFields(toolResponse)) {
    const response = fieldOf(toolResponse, "response");
    const about = { call: textOf(toolResponse, "id") ?? made, tool: toolName(toolResponse) };
    const fault = textOf(response, "error");
    return [hostedEnd(about, { isError: fault !== undefined, ...(fault === undefined ? {} : { output: fault }) })];
  }
  const code = { call: made, tool: "code_execution" };
  if (isFields(executableCode))
    return [
      hostedStart({ ...code, call: textOf(executableCode, "id") ?? made, input: textOf(executableCode, "code") ?? "" }),
    ];
  if (!isFields(codeExecutionResult)) return [];
  const isError = textOf(codeExecutionResult, "outcome") !== "OUTCOME_OK";
  const output = textOf(codeExecutionResult, "output");
  const about = { ...code, call: textOf(codeExecutionResult, "id") ?? made };
  return [hostedEnd(about, { isError, ...(output === undefined ? {} : { output }) })];
}

function toolName(call: Fields): string {
  return (textOf(call, "toolType") ?? "tool").toLowerCase();
}

/** The addresses that the words of a reply rest on. */
export function citationsIn(grounding: unknown): readonly unknown[] {
  return listOf(grounding, "groundingChunks").map(
    (chunk) => fieldOf(chunk, "web") ?? fieldOf(chunk, "retrievedContext"),
  );
}
