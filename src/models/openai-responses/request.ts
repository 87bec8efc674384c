import { type Fields, isFields, textOf } from "../fields.ts";
import type { CallResult, Opening, ToolDeclaration } from "../model.ts";
import { labelledText } from "../result-text.ts";
import type { ToolNames } from "../tool-names.ts";
import { strictSchema } from "./strict-schema.ts";

/** The declarations of a conversation, the same in every request. */
export interface ResponsesTools {
  readonly declarations: readonly Fields[];
  /** Original input schemas of the tools that are declared strict, by name of the tool. */
  readonly strictInputs: ReadonlyMap<string, ToolDeclaration["input"]>;
}

export function declareTools(
  { tools, runProgram, hosted }: Opening,
  names: ToolNames,
  { strict: isStrict }: { readonly strict: boolean },
): ResponsesTools {
  const strictInputs = new Map<string, ToolDeclaration["input"]>();
  const functions = tools.map(({ name, description, input, output, callers }) => {
    const strict = isStrict ? strictSchema(input) : undefined;
    if (strict) strictInputs.set(name, input);
    return {
      type: "function",
      name: names.given(name),
      description,
      parameters: strict ?? input,
      strict: strict !== undefined,
      ...(hosted ? { allowed_callers: callers } : {}),
      ...(hosted && output !== undefined ? { output_schema: output } : {}),
    };
  });
  const declarations = [
    ...(hosted ? [{ type: "programmatic_tool_calling" }] : []),
    // A custom tool takes the source as plain text, without JSON around it.
    ...(runProgram ? [{ type: "custom", ...runProgram, format: { type: "text" } }] : []),
    ...functions,
  ];
  return { declarations, strictInputs };
}

/** The item that carries the result of a call. Programs get the bare text, because they parse it. */
export function outputItem(call: Fields, fromProgram: boolean, result: CallResult): Fields {
  const bare = result.isError ? `Error: ${result.text}` : result.text;
  return {
    type: `${String(call.type)}_output`,
    call_id: textOf(call, "call_id") ?? "",
    ...(isFields(call.caller) ? { caller: call.caller } : {}),
    output: fromProgram ? bare : labelledText(result),
  };
}
