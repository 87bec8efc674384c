import type { Fields } from "../../values/fields.ts";
import type { ModelSettings, ToolChoice } from "../model.ts";
import { isReasoned } from "../settings.ts";
import type { ToolNames } from "../tool-names.ts";
import { flatSchema } from "./flat-schema.ts";

/** The settings as fields of the SDK's `config`. Gemini holds no answer to a schema beside tools. */
export function settingsConfig(settings: ModelSettings, hasTools: boolean): Fields {
  const { reasoning, temperature, stop, answer } = settings;
  return {
    ...(isReasoned(settings)
      ? {
          thinkingConfig: {
            ...(reasoning?.effort === undefined ? {} : { thinkingLevel: reasoning.effort.toUpperCase() }),
            ...(reasoning?.summary === true ? { includeThoughts: true } : {}),
          },
        }
      : {}),
    ...(temperature === undefined ? {} : { temperature }),
    ...(stop === undefined ? {} : { stopSequences: stop }),
    ...(answer === undefined || hasTools
      ? {}
      : { responseMimeType: "application/json", responseJsonSchema: flatSchema(answer) }),
  };
}

/** The mode of function calling; undefined where it is the provider's default. `strict` holds calls to their schemas. */
export function callingMode(choice: ToolChoice, names: ToolNames, strict: boolean): Fields | undefined {
  if (choice === "none") return { mode: "NONE" };
  if (choice === "required") return { mode: "ANY" };
  if (choice !== "auto") return { mode: "ANY", allowedFunctionNames: [names.given(choice.tool)] };
  return strict ? { mode: "VALIDATED" } : undefined;
}
