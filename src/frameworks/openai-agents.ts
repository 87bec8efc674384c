import { PortcullisError } from "../errors.ts";
import { inputOf } from "../models/turn/program-input.ts";
import { type LoopTool, type WritableSchema, writableSchema } from "./program-tool.ts";

/** A function tool of OpenAI Agents, as `tool()` makes it. */
export interface AgentsTool {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly parameters: WritableSchema;
  readonly strict: boolean;
  /**
   * `input` is the JSON text of the arguments. Resolves with the text for the model, also if the program failed: results
   * of this loop have no mark of failure, and a rejection would end the run.
   */
  readonly invoke: (runContext: unknown, input: string, details?: AgentsCallDetails) => Promise<string>;
  readonly needsApproval: () => Promise<boolean>;
  readonly isEnabled: () => Promise<boolean>;
}

interface AgentsCallDetails {
  readonly signal?: AbortSignal | undefined;
}

export function agentsTool(tool: LoopTool): AgentsTool {
  return {
    type: "function",
    name: tool.name,
    description: tool.description,
    parameters: writableSchema(tool),
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
