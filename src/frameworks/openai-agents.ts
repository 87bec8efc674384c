import { PortcullisError } from "../errors.ts";
import { inputOf } from "../models/turn/program-input.ts";
import type { LoopTool } from "./program-tool.ts";

/** A function tool of OpenAI Agents, as `tool()` makes it. */
export interface AgentsTool {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly parameters: AgentsParameters;
  readonly strict: boolean;
  /**
   * `input` is the JSON text of the arguments. Resolves with the text for the model, also if the program failed: results
   * of this loop have no mark of failure, and a rejection would end the run.
   */
  readonly invoke: (runContext: unknown, input: string, details?: AgentsCallDetails) => Promise<string>;
  readonly needsApproval: () => Promise<boolean>;
  readonly isEnabled: () => Promise<boolean>;
}

/** The types of the SDK take lists that may be written to. */
interface AgentsParameters {
  type: "object";
  properties: Record<string, { type: string; description: string }>;
  required: string[];
  additionalProperties: false;
}

interface AgentsCallDetails {
  readonly signal?: AbortSignal | undefined;
}

export function agentsTool(tool: LoopTool): AgentsTool {
  return {
    type: "function",
    name: tool.name,
    description: tool.description,
    parameters: { ...tool.schema, properties: { ...tool.schema.properties }, required: [...tool.schema.required] },
    strict: tool.isStrict,
    async invoke(_, input, details) {
      try {
        return await tool.run(inputOf(input), { signal: details?.signal });
      } catch (error) {
        if (PortcullisError.is(error) && (error.code === "program_failed" || error.code === "tool_failed"))
          return error.message;
        throw error;
      }
    },
    // Approval is asked for the calls that a program makes, while it runs.
    needsApproval: () => Promise.resolve(false),
    isEnabled: () => Promise.resolve(true),
  };
}
