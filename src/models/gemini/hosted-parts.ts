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
  const ran = [toolCall, toolResponse, executableCode, codeExecutionResult].find(isFields);
  if (!ran) return [];
  const isCode = ran === executableCode || ran === codeExecutionResult;
  const tool = isCode ? "code_execution" : (textOf(ran, "toolType") ?? "tool").toLowerCase();
  const about = { call: textOf(ran, "id") ?? made, tool };
  if (ran === toolCall) return [hostedStart({ ...about, input: fieldOf(ran, "args") ?? {} })];
  if (ran === executableCode) return [hostedStart({ ...about, input: textOf(ran, "code") ?? "" })];
  const output = isCode ? textOf(ran, "output") : textOf(fieldOf(ran, "response"), "error");
  const isError = isCode ? textOf(ran, "outcome") !== "OUTCOME_OK" : output !== undefined;
  return [hostedEnd(about, { isError, ...(output === undefined ? {} : { output }) })];
}

/** The addresses that the words of a reply rest on. */
export function citationsIn(grounding: unknown): readonly unknown[] {
  return listOf(grounding, "groundingChunks").map(
    (chunk) => fieldOf(chunk, "web") ?? fieldOf(chunk, "retrievedContext"),
  );
}
