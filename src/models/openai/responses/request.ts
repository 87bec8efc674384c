import { type Fields, isFields, textOf } from "../../../base/index.ts";
import { type ContentForms, dataUrl, fileName, type ResultParts } from "../../turn/content-parts.ts";
import type { CallResult, Opening, ToolDeclaration, ModelSettings, ToolChoice } from "../../model.ts";
import { RUN_PROGRAM } from "../../../tools/tool-name.ts";
import { labelledText } from "../../turn/result-text.ts";
import type { ToolNames } from "../../turn/tool-names.ts";
import { answerFormat, functionFields, grammarOf } from "../openai-request.ts";
import { searchOf } from "../../hosted-tools.ts";
import { isReasoned } from "../../settings.ts";

/** The declarations of a conversation, the same in every request. */
export function declareTools(opening: Opening, names: ToolNames, isStrict: boolean): readonly Fields[] {
  const { tools, runProgram, hosted, settings = {} } = opening;
  return [
    hosted ? { type: "programmatic_tool_calling" } : [],
    searchTools(settings),
    // A custom tool takes the source as plain text, without JSON around it.
    runProgram ? { type: "custom", ...runProgram, format: { type: "text" } } : [],
    tools.map((tool) => declareTool(tool, names, { isStrict, hosted })),
  ].flat();
}

interface Declaring {
  readonly isStrict: boolean;
  readonly hosted: boolean;
}

function declareTool(tool: ToolDeclaration, names: ToolNames, { isStrict, hosted }: Declaring): Fields {
  const { description, outputSchema: output, callers, textFormat } = tool;
  const name = names.aliasOf(tool.name);
  const allowed = hosted ? callers : undefined;
  if (textFormat !== undefined)
    return { type: "custom", name, description, format: grammarOf(textFormat), allowed_callers: allowed };
  return {
    type: "function",
    ...functionFields({ ...tool, name }, isStrict),
    allowed_callers: allowed,
    output_schema: hosted ? output : undefined,
  };
}

function searchTools(settings: ModelSettings): readonly Fields[] {
  const search = searchOf(settings);
  if (!search) return [];
  const { allowedDomains } = search;
  return [{ type: "web_search", ...(allowedDomains && { filters: { allowed_domains: allowedDomains } }) }];
}

/** The item that declares deferred tools once a search has found them. */
export function additionalTools(found: readonly ToolDeclaration[], names: ToolNames, isStrict: boolean): Fields {
  const tools = found.map((tool) => declareTool(tool, names, { isStrict, hosted: false }));
  return { type: "additional_tools", role: "developer", tools };
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

export function outputItem(call: Fields, result: CallResult, { carried, notes }: ResultParts): Fields {
  const text = labelledText(result, { marksFailure: false, notes });
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
    ...(isFields(call.caller) && { caller: call.caller }),
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

export function toolChoiceOf(choice: ToolChoice, { tools, runProgram }: Opening, names: ToolNames): unknown {
  if (typeof choice === "string") return choice === "auto" ? undefined : choice;
  const { tool } = choice;
  if (tool === runProgram?.name) return { type: "custom", name: tool };
  if (tool === RUN_PROGRAM && !tools.some(({ name }) => name === tool)) return { type: "programmatic_tool_calling" };
  const { textFormat } = tools.find(({ name }) => name === tool) ?? {};
  return { type: textFormat === undefined ? "function" : "custom", name: names.aliasOf(tool) };
}
