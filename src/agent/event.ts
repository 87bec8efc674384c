import type { ExecutionId } from "../journal/execution-id.ts";
import type { ModelUsage } from "../models/model.ts";
import type { ExecutionEvent } from "../programs/execute.ts";
import type { Outcome } from "../programs/outcome.ts";
import type { AgentEnding } from "./ending.ts";

/**
 * What a conversation tells a listener, as it happens. `execution` is the conversation's id; events of programs, and of
 * agents that are tools, have their own.
 */
export type AgentEvent =
  | { readonly type: "conversation_started"; readonly execution: ExecutionId; readonly model: string }
  | { readonly type: "text"; readonly execution: ExecutionId; readonly text: string }
  | { readonly type: "turn_ended"; readonly execution: ExecutionId; readonly turn: number; readonly usage: ModelUsage }
  | {
      readonly type: "program_started";
      readonly execution: ExecutionId;
      readonly callId: string;
      readonly source: string;
      readonly hosted: boolean;
    }
  | {
      readonly type: "program_ended";
      readonly execution: ExecutionId;
      readonly callId: string;
      /** Of a program that ran here. */
      readonly outcome?: Outcome;
      readonly isError: boolean;
      readonly hosted: boolean;
    }
  | { readonly type: "conversation_ended"; readonly execution: ExecutionId; readonly ending: AgentEnding }
  | ExecutionEvent;
