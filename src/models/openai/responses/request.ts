import { type Fields, isFields, textOf, without } from "../../../base/index.ts";
import { type ContentForms, dataUrl, fileName, type ResultParts } from "../../turn/content-parts.ts";
import type { CallResult, Opening, ToolDeclaration, ModelSettings, ToolChoice } from "../../model.ts";
import { RUN_PROGRAM, SEARCH_TOOLS } from "../../../tools/tool-name.ts";
import { labelledText } from "../../turn/result-text.ts";
import type { ToolNames } from "../../turn/tool-names.ts";
import { answerFormat, functionFields, grammarOf } from "../openai-request.ts";
import { searchOf } from "../../hosted-tools.ts";
import { isReasoned } from "../../settings.ts";

/** The declarations of a conversation, the same in every request. */
export interface ResponsesTools {
  readonly declarations: readonly Fields[];
  /** Declarations of deferred tools, by name of the tool. The model gets them when a search has found them. */
  readonly deferred: ReadonlyMap<string, Fields>;
}

/** Whether OpenAI's own search takes the place of ours. Its results have no place for the stubs of programs. */
function usesOwnSearch({ deferred = [], searchesPrograms = false }: Opening): boolean {
  return deferred.length > 0 && !searchesPrograms;
}

export function declareTools(opening: Opening, names: ToolNames, isStrict: boolean): ResponsesTools {
  const { tools, deferred = [], runProgram, hosted, settings = {} } = opening;
  const declare = (tool: ToolDeclaration): Fields => {
    const { description, outputSchema: output, callers, textFormat } = tool;
    const name = names.given(tool.name);
    const forPrograms = hosted ? { allowed_callers: callers } : {};
    if (textFormat !== undefined)
      return { type: "custom", name, description, format: grammarOf(textFormat), ...forPrograms };
    const typed = hosted && output !== undefined ? { output_schema: output } : {};
    return { type: "function", ...functionFields({ ...tool, name }, isStrict), ...forPrograms, ...typed };
  };
  const isSearch = ({ name }: ToolDeclaration) => usesOwnSearch(opening) && name === SEARCH_TOOLS;
  const searches = tools.filter(isSearch).map(({ description, inputSchema: input }) => ({
    type: "tool_search",
    execution: "client",
    description,
    parameters: input,
  }));
  const declarations = [
    ...(hosted ? [{ type: "programmatic_tool_calling" }] : []),
    ...searchTools(settings),
    // A custom tool takes the source as plain text, without JSON around it.
    ...(runProgram ? [{ type: "custom", ...runProgram, format: { type: "text" } }] : []),
    ...searches,
    ...tools.filter((tool) => !isSearch(tool)).map(declare),
  ];
  return {
    declarations,
    deferred: new Map(deferred.map((tool) => [tool.name, { ...declare(tool), defer_loading: true }])),
  };
}

function searchTools(settings: ModelSettings): readonly Fields[] {
  const search = searchOf(settings);
  if (!search) return [];
  const { allowedDomains } = search;
  return [{ type: "web_search", ...(allowedDomains && { filters: { allowed_domains: allowedDomains } }) }];
}

/** The item that answers a search: the definitions of the tools that it found. */
export function searchOutput(call: Fields, { found = [] }: CallResult, tools: ResponsesTools): Fields {
  return {
    type: "tool_search_output",
    call_id: textOf(call, "call_id") ?? "",
    execution: "client",
    status: "completed",
    tools: declarationsOf(found, tools),
  };
}

/** The item that declares deferred tools if another tool than OpenAI's own search found them. */
export function additionalTools(found: readonly ToolDeclaration[], tools: ResponsesTools): Fields {
  const names = found.map(({ name }) => name);
  const declared = declarationsOf(names, tools).map((declaration) => without(declaration, "defer_loading"));
  return { type: "additional_tools", role: "developer", tools: declared };
}

function declarationsOf(found: readonly string[], { deferred }: ResponsesTools): readonly Fields[] {
  return found.map((tool) => deferred.get(tool)).filter((declared) => declared !== undefined);
}

export const CONTENT: ContentForms = {
  text: (text) => ({ type: "input_text", text }),
  data: (part) =>
    part.type === "image"
      ? { type: "input_image", image_url: dataUrl(part), detail: "auto" }
      : { type: "input_file", filename: fileName(part), file_data: dataUrl(part) },
  link: (url, isImage) =>
    isImage ? { type: "input_image", image_url: url, detail: "auto" } : { type: "input_file", file_url: url },
};

export function outputItem(call: Fields, result: CallResult, { carried, told }: ResultParts): Fields {
  const text = labelledText(result, { marksFailure: false, told });
  return outputOf(call, carried.length > 0 ? [CONTENT.text(text), ...carried.map(CONTENT.data)] : text);
}

/** The item for a hosted program, which takes the bare text alone, because it parses it. */
export function programOutputItem(call: Fields, { isError, text }: CallResult): Fields {
  return outputOf(call, isError ? `Error: ${text}` : text);
}

function outputOf(call: Fields, output: unknown): Fields {
  return {
    type: `${String(call.type)}_output`,
    call_id: textOf(call, "call_id") ?? "",
    ...(isFields(call.caller) ? { caller: call.caller } : {}),
    output,
  };
}

export function settingsFields(settings: ModelSettings): Fields {
  const { reasoning, temperature, answer } = settings;
  const format = answerFormat(answer);
  return {
    // OpenAI counts the calls of its own tools alone.
    max_tool_calls: searchOf(settings)?.maxUses,
    ...(isReasoned(settings) && {
      reasoning: { effort: reasoning?.effort, summary: reasoning?.summary === true ? "auto" : undefined },
    }),
    temperature,
    text: format && { format: { type: "json_schema", ...format } },
  };
}

export function toolChoiceOf(choice: ToolChoice, opening: Opening, names: ToolNames): unknown {
  if (typeof choice === "string") return choice === "auto" ? undefined : choice;
  const { tools, runProgram } = opening;
  const { tool } = choice;
  if (tool === runProgram?.name) return { type: "custom", name: tool };
  if (usesOwnSearch(opening) && tool === SEARCH_TOOLS)
    return { type: "allowed_tools", mode: "required", tools: [{ type: "tool_search" }] };
  if (tool === RUN_PROGRAM && !tools.some(({ name }) => name === tool)) return { type: "programmatic_tool_calling" };
  const { textFormat } = tools.find(({ name }) => name === tool) ?? {};
  return { type: textFormat === undefined ? "function" : "custom", name: names.given(tool) };
}
