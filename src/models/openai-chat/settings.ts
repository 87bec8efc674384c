import type { Fields } from "../../values/fields.ts";
import type { ModelSettings, ToolChoice } from "../model.ts";
import { answerFormat } from "../openai-answer.ts";
import type { ToolNames } from "../tool-names.ts";

/** The settings as fields of a request. `holdsAnswers`: whether the server takes a schema of the answer in this request. */
export function settingsFields({ reasoning, temperature, stop, answer }: ModelSettings, holdsAnswers: boolean): Fields {
  const format = answer === undefined || !holdsAnswers ? undefined : answerFormat(answer);
  return {
    ...(reasoning?.effort === undefined ? {} : { reasoning_effort: reasoning.effort }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(stop === undefined ? {} : { stop }),
    ...(format ? { response_format: { type: "json_schema", json_schema: format } } : {}),
  };
}

/** The choice among tools, of a request that declares some. */
export function callFields(choice: ToolChoice, { parallelCalls = true }: ModelSettings, names: ToolNames): Fields {
  return {
    ...(choice === "auto" ? {} : { tool_choice: toolChoiceOf(choice, names) }),
    ...(parallelCalls ? {} : { parallel_tool_calls: false }),
  };
}

function toolChoiceOf(choice: ToolChoice, names: ToolNames): unknown {
  if (typeof choice === "string") return choice;
  return { type: "function", function: { name: names.given(choice.tool) } };
}
