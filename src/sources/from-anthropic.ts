import { isTexts, optionError } from "../base/index.ts";
import type { Tool } from "../tools/tool.ts";
import { adopt, foreignSchema, type ToolPolicies, unusable } from "./tool-policy.ts";

/** The fields used here of a tool that Anthropic's `betaZodTool()` or `betaTool()` makes. */
export interface AnthropicTool {
  readonly name: string;
  readonly description?: unknown;
  /** Absent from tools that Anthropic runs, which cannot be adopted. */
  readonly input_schema?: unknown;
  readonly run: (input: never, context?: never) => unknown;
  readonly parse?: (content: unknown) => unknown;
}

/** Adopts Anthropic's runnable tools. A result of text blocks only becomes their text; any other result stays as it is. */
export function fromAnthropic(tools: readonly AnthropicTool[], policies: ToolPolicies): readonly Tool[] {
  if (!Array.isArray(tools)) throw optionError("fromAnthropic(tools)", "an array of runnable tools", tools);
  return (tools as readonly AnthropicTool[]).map((tool) => {
    const { name, description = name, input_schema } = tool;
    if (typeof tool.run !== "function") throw unusable("fromAnthropic", name, "it has no run");
    const run = tool.run as unknown as (input: unknown, context: object) => unknown;
    return adopt(
      {
        source: "anthropic",
        name,
        description,
        inputSchema: foreignSchema("fromAnthropic", name, input_schema),
        execute: async (input, { signal, callId }) => {
          const toolUse = { type: "tool_use", id: callId, name, input };
          return textOrBlocks(
            await run(tool.parse ? tool.parse(input) : input, { toolUse, toolUseBlock: toolUse, signal }),
          );
        },
      },
      policies,
    );
  });
}

function textOrBlocks(result: unknown): unknown {
  if (!Array.isArray(result)) return result;
  const texts = (result as { readonly type?: unknown; readonly text?: unknown }[]).map(({ type, text }) =>
    type === "text" ? text : undefined,
  );
  return isTexts(texts) ? texts.join("\n") : result;
}
