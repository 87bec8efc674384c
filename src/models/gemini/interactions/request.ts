import { type Fields, textOf } from "../../../base/index.ts";
import type { ContentForms, ResultParts } from "../../turn/content-parts.ts";
import type { CallResult, ModelSettings, ToolChoice } from "../../model.ts";
import { isReasoned } from "../../settings.ts";
import type { ToolNames } from "../../turn/tool-names.ts";
import { flatSchema } from "../flat-schema.ts";
import { callingMode, responseOf } from "../request.ts";

export const CONTENT: ContentForms = {
  text: (text) => ({ type: "text", text }),
  data: ({ mediaType, data }) => {
    const [, type = "document"] = /^(image|audio|video)\//.exec(mediaType) ?? [];
    return { type, data, mime_type: mediaType };
  },
};

/** The tools, from the declarations of functions. They are sent with every request: no interaction carries them over. */
export function interactionTools(declarations: readonly Fields[], searches: boolean): readonly Fields[] {
  return [
    ...declarations.map(({ name, description, parametersJsonSchema: parameters }) => ({
      type: "function",
      name,
      description,
      parameters,
    })),
    ...(searches ? [{ type: "google_search" }] : []),
  ];
}

/** The step that carries the result of a call. */
export function resultStep(call: Fields, result: CallResult, parts: ResultParts): Fields {
  const response = responseOf(result, parts);
  const content = [CONTENT.text(JSON.stringify(response)), ...parts.carried.map(CONTENT.data)];
  return {
    type: "function_result",
    call_id: textOf(call, "id") ?? "",
    name: textOf(call, "name") ?? "",
    result: parts.carried.length > 0 ? content : response,
    ...(result.isError ? { is_error: true } : {}),
  };
}

/** The choice of tools; undefined if it is the provider's default. */
export function toolChoiceOf(choice: ToolChoice, names: ToolNames, strict: boolean): unknown {
  const calling = callingMode(choice, names, strict);
  if (!calling) return undefined;
  const mode = textOf(calling, "mode")?.toLowerCase();
  const tools = calling.allowedFunctionNames;
  return tools === undefined ? mode : { allowed_tools: { mode, tools } };
}

/** The settings as fields of `generation_config`. */
export function generationSettings(settings: ModelSettings): Fields {
  const { reasoning, temperature, stop } = settings;
  return {
    ...(isReasoned(settings) && {
      thinking_level: reasoning?.effort,
      thinking_summaries: reasoning?.summary ? "auto" : undefined,
    }),
    temperature,
    stop_sequences: stop,
  };
}

/** Gemini takes no schema of an answer beside tools. */
export function responseFormat({ answer }: ModelSettings, hasTools: boolean): Fields {
  if (answer === undefined || hasTools) return {};
  return { response_format: { type: "text", mime_type: "application/json", schema: flatSchema(answer) } };
}
