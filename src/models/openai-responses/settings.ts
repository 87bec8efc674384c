import { SEARCH_TOOLS } from "../../tools/tool-name.ts";
import type { Fields } from "../../values/fields.ts";
import type { ModelSettings, Opening, ToolChoice } from "../model.ts";
import { answerFormat } from "../openai-answer.ts";
import { RUN_PROGRAM } from "../program-input.ts";
import { isReasoned } from "../settings.ts";
import type { ToolNames } from "../tool-names.ts";
import { usesOwnSearch } from "./request.ts";

/** The settings as fields of a request. */
export function settingsFields(settings: ModelSettings): Fields {
  const { reasoning, temperature, answer } = settings;
  const format = answer === undefined ? undefined : answerFormat(answer);
  return {
    ...(isReasoned(settings)
      ? {
          reasoning: {
            ...(reasoning?.effort === undefined ? {} : { effort: reasoning.effort }),
            ...(reasoning?.summary === true ? { summary: "auto" } : {}),
          },
        }
      : {}),
    ...(temperature === undefined ? {} : { temperature }),
    ...(format ? { text: { format: { type: "json_schema", ...format } } } : {}),
  };
}

/** The choice among tools, of a request that declares some. */
export function callFields(
  choice: ToolChoice,
  { parallelCalls = true }: ModelSettings,
  opening: Opening,
  names: ToolNames,
): Fields {
  return {
    ...(choice === "auto" ? {} : { tool_choice: toolChoiceOf(choice, opening, names) }),
    ...(parallelCalls ? {} : { parallel_tool_calls: false }),
  };
}

function toolChoiceOf(choice: ToolChoice, opening: Opening, names: ToolNames): unknown {
  if (typeof choice === "string") return choice;
  const { tools, runProgram } = opening;
  const { tool } = choice;
  if (tool === runProgram?.name) return { type: "custom", name: tool };
  if (usesOwnSearch(opening) && tool === SEARCH_TOOLS)
    return { type: "allowed_tools", mode: "required", tools: [{ type: "tool_search" }] };
  if (tool === RUN_PROGRAM && !tools.some(({ name }) => name === tool)) return { type: "programmatic_tool_calling" };
  return { type: "function", name: names.given(tool) };
}
