import { optionError, PortcullisError } from "../base/index.ts";
import type { Tool } from "../tools/tool.ts";
import { adopt, foreignSchema, type ToolPolicies, unusable } from "./tool-policy.ts";

/** The fields used here of a tool that `tool()` of OpenAI Agents makes. */
export interface OpenAiAgentsTool {
  readonly type: string;
  readonly name: string;
  readonly description?: unknown;
  readonly parameters?: unknown;
  readonly needsApproval?: unknown;
  readonly invoke?: unknown;
  readonly isEnabled?: unknown;
  readonly inputGuardrails?: readonly unknown[];
  readonly outputGuardrails?: readonly unknown[];
}

type Run<Result = boolean> = (runContext: unknown, ...more: readonly unknown[]) => Promise<Result>;

/**
 * Adopts function tools of OpenAI Agents. They are called outside a run, so tools that read their run context need
 * `runContext`, like `new RunContext({ … })`. A tool that throws returns the text of its `errorFunction`; with
 * `errorFunction: null` the call fails.
 */
export function fromOpenAIAgents(
  tools: readonly OpenAiAgentsTool[],
  policies: ToolPolicies,
  runContext?: object,
): readonly Tool[] {
  if (!Array.isArray(tools)) throw optionError("fromOpenAIAgents(tools)", "an array of function tools", tools);
  return (tools as readonly OpenAiAgentsTool[]).map(
    ({ type, name, description = name, parameters, invoke, needsApproval, isEnabled, ...guardrails }) => {
      if (type !== "function" || typeof invoke !== "function")
        throw unusable("fromOpenAIAgents", name, "it is not a function tool");
      if (guardrails.inputGuardrails?.length || guardrails.outputGuardrails?.length)
        throw unusable(
          "fromOpenAIAgents",
          name,
          "its guardrails apply only inside a run of OpenAI Agents; check in execute instead",
        );
      return adopt(
        {
          source: "openai-agents",
          name,
          description,
          inputSchema: foreignSchema("fromOpenAIAgents", name, parameters),
          needsApproval:
            typeof needsApproval === "function" ? (input) => (needsApproval as Run)(runContext, input) : undefined,
          execute: async (input, { signal }) => {
            if (typeof isEnabled === "function" && !(await (isEnabled as Run)(runContext)))
              throw new PortcullisError("tool_failed", `${name} is not enabled.`);
            return await (invoke as Run<unknown>)(runContext, JSON.stringify(input), { signal });
          },
        },
        policies,
      );
    },
  );
}
