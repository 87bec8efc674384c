import { optionError } from "../errors.ts";
import type { Tool } from "../tools/tool.ts";
import { adopt, foreignSchema, type ToolPolicies, unusable } from "./tool-policy.ts";

/** What Anthropic's `betaZodTool()` and `betaTool()` make, as far as it is needed here. */
export interface AnthropicTool {
  readonly name: string;
  readonly description?: unknown;
  /** Tools that Anthropic runs have none, and cannot be adopted. */
  readonly input_schema?: unknown;
  readonly run: (input: never, context?: never) => unknown;
  readonly parse?: (content: unknown) => unknown;
}

/** Anthropic's runnable tools. A result of text blocks becomes their text; other blocks stay as they are. */
export function fromAnthropic(tools: readonly AnthropicTool[], policies: ToolPolicies): readonly Tool[] {
  if (!Array.isArray(tools)) throw optionError("fromAnthropic(tools)", "an array of runnable tools", tools);
  return (tools as readonly AnthropicTool[]).map((tool) => {
    const { name, description = name, input_schema } = tool;
    if (typeof tool.run !== "function") throw unusable("fromAnthropic", name, "it has no run");
    const run = tool.run as unknown as (input: unknown, context: object) => unknown;
    return adopt(
      {
        name,
        description,
        input: foreignSchema("fromAnthropic", name, input_schema),
        run: async (input, { signal, callId }) => {
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
  return texts.every((text) => typeof text === "string") ? texts.join("\n") : result;
}
