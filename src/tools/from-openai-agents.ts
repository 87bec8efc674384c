import { optionError } from "../errors.ts";
import type { Tool } from "./tool.ts";
import { adopt, foreignSchema, type ToolPolicies, unusable } from "./tool-policy.ts";

/** What `tool()` of OpenAI Agents makes, as far as it is needed here. */
export interface OpenAiAgentsTool {
  readonly type: string;
  readonly name: string;
  readonly description?: unknown;
  readonly parameters?: unknown;
  readonly needsApproval?: unknown;
  readonly invoke?: unknown;
}

type Invoke = (runContext: undefined, input: string, details: object) => Promise<unknown>;
type NeedsApproval = (runContext: undefined, input: unknown) => Promise<boolean>;

/**
 * Functions of OpenAI Agents. They are run without a run context, for there is no run of theirs. One that throws gives
 * the text that its own `errorFunction` makes of it as its result; with `errorFunction: null` it fails here too.
 */
export function fromOpenAIAgents(tools: readonly OpenAiAgentsTool[], policies: ToolPolicies): readonly Tool[] {
  if (!Array.isArray(tools)) throw optionError("fromOpenAIAgents(tools)", "an array of function tools", tools);
  return (tools as readonly OpenAiAgentsTool[]).map(
    ({ type, name, description = name, parameters, invoke, needsApproval }) => {
      if (type !== "function" || typeof invoke !== "function")
        throw unusable("fromOpenAIAgents", name, "it is no function tool");
      return adopt(
        {
          name,
          description,
          input: foreignSchema("fromOpenAIAgents", name, parameters),
          ...(typeof needsApproval === "function"
            ? { needsApproval: (input) => (needsApproval as NeedsApproval)(undefined, input) }
            : {}),
          run: (input, { signal }) => (invoke as Invoke)(undefined, JSON.stringify(input), { signal }),
        },
        policies,
      );
    },
  );
}
