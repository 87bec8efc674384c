import { MAX_STEPS } from "./json-schema/evaluate.ts";
import { isFields, type OptionsOf, PortcullisError, readOptions } from "../base/index.ts";
import { type HandlerReturn, invalid, makeTool, toolPlace, type ToolOptions } from "./define-tool.ts";
import type { Schema } from "./schema.ts";
import { FORMAT_RULES, textSchema } from "./text-format.ts";
import type { Tool } from "./tool.ts";

const MAKER = "defineTextTool";

export type TextToolOptions<
  Output extends Schema | undefined = undefined,
  Context = unknown,
  Stream extends boolean = false,
  Answer = HandlerReturn<Output, Stream>,
> = Omit<ToolOptions<Schema<string, string>, Output, Context, Stream, Answer>, "inputSchema" | "unknownFields"> &
  OptionsOf<typeof FORMAT_RULES>;

/**
 * Defines a tool whose input is one text, like a query in SQL: a program calls `tools.db.query("SELECT …")`. Its options
 * are those of `defineTool`, with `format` in place of `inputSchema`; functions of the input get the text. Models of OpenAI
 * write the text as it is; for other models the tool is a function with one field `input`. Throws a `PortcullisError`
 * (`tool_invalid`) as `defineTool` does.
 */
export function defineTextTool<
  Output extends Schema | undefined = undefined,
  Context = unknown,
  const Stream extends boolean = false,
  const Answer extends HandlerReturn<Output, Stream> = HandlerReturn<Output, Stream>,
>(options: TextToolOptions<Output, Context, Stream, Answer>): Tool<Context> {
  return textTool<Context>(options, MAX_STEPS);
}

/** Steps of the check of one text by the expression of a client: some hundredths of a second. A character takes about three. */
export const CLIENT_TEXT_STEPS = 2_000_000;

/** Like `defineTextTool`, with so many steps for the check of a text. */
export function textTool<Context>(options: unknown, maxSteps: number): Tool<Context> {
  const { name, format: written, ...others } = isFields(options) ? options : {};
  const place = toolPlace(name, MAKER);
  for (const option of ["inputSchema", "input", "unknownFields", "regex"])
    if (Object.hasOwn(others, option))
      throw new PortcullisError(
        "tool_invalid",
        `${place.at(option)}: a text tool takes one text and no fields: format: "text" or { regex }. Leave it out, or use defineTool.`,
      );
  try {
    const { format: read } = readOptions(place, { format: written }, FORMAT_RULES);
    const format = read === "text" ? read : Object.freeze({ regex: read.regex });
    const inputSchema = textSchema(place, format, maxSteps);
    const tool = isFields(options) ? { name, ...others, inputSchema, unknownFields: "allow" } : options;
    return makeTool<Context>(tool, { maker: MAKER, textFormat: format });
  } catch (error) {
    throw invalid(error);
  }
}
