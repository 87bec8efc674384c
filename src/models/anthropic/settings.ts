import type { Fields } from "../../values/fields.ts";
import type { ModelSettings, Opening, ToolChoice } from "../model.ts";
import { isReasoned } from "../settings.ts";
import type { ToolNames } from "../tool-names.ts";
import { plainSchema } from "./plain-schema.ts";

/** The settings as fields of a request. */
export function settingsFields(settings: ModelSettings, { hosted }: Pick<Opening, "hosted">): Fields {
  const { reasoning, temperature, stop } = settings;
  const output = outputConfig(settings, hosted);
  return {
    ...(isReasoned(settings)
      ? { thinking: { type: "adaptive", display: reasoning?.summary === true ? "summarized" : "omitted" } }
      : {}),
    ...(Object.keys(output).length > 0 ? { output_config: output } : {}),
    ...(temperature === undefined ? {} : { temperature }),
    ...(stop === undefined ? {} : { stop_sequences: stop }),
  };
}

/** Hosted programs exclude what holds a model to a schema. */
function outputConfig({ reasoning, answer }: ModelSettings, hosted: boolean): Fields {
  const schema = answer === undefined || hosted ? undefined : plainSchema(answer);
  return {
    ...(reasoning?.effort === undefined ? {} : { effort: reasoning.effort }),
    ...(schema ? { format: { type: "json_schema", schema } } : {}),
  };
}

/** The choice among tools; undefined where it is the provider's default. */
export function toolChoiceOf(
  choice: ToolChoice,
  { parallelCalls = true }: ModelSettings,
  names: ToolNames,
): Fields | undefined {
  if (choice === "none") return { type: "none" };
  const oneCall = parallelCalls ? {} : { disable_parallel_tool_use: true };
  if (choice === "required") return { type: "any", ...oneCall };
  if (choice !== "auto") return { type: "tool", name: names.given(choice.tool), ...oneCall };
  return parallelCalls ? undefined : { type: "auto", ...oneCall };
}
