import { NO_SOURCE } from "../agent/run-program.ts";
import { PortcullisError } from "../errors.ts";
import { PROGRAM_SCHEMA, sourceOf } from "../models/program-input.ts";
import type { ProgramTool } from "./program-tool.ts";

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
  properties: { code: { type: "string"; description: string } };
  required: "code"[];
  additionalProperties: false;
}

interface AgentsCallDetails {
  readonly signal?: AbortSignal | undefined;
}

export function agentsTool(program: ProgramTool): AgentsTool {
  return {
    type: "function",
    name: program.name,
    description: program.description,
    parameters: { ...PROGRAM_SCHEMA, required: [...PROGRAM_SCHEMA.required] },
    strict: true,
    async invoke(_, input, details) {
      const code = sourceOf(input);
      if (code === undefined) return NO_SOURCE;
      try {
        return await program.run({ code }, { signal: details?.signal });
      } catch (error) {
        if (PortcullisError.is(error) && error.code === "program_failed") return error.message;
        throw error;
      }
    },
    // Approval is asked for the calls that a program makes, while it runs.
    needsApproval: () => Promise.resolve(false),
    isEnabled: () => Promise.resolve(true),
  };
}
