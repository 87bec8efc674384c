import type { ModelUsage } from "../models/model.ts";
import type { Outcome } from "../output/report.ts";
import type { ExecutionEvent } from "../programs/execute.ts";
import type { AgentEnding } from "./ending.ts";

/** For whoever watches a conversation. `execution` is the conversation's id, but for what programs and tools tell of themselves. */
export type AgentEvent =
  | { readonly type: "conversation_started"; readonly execution: string; readonly model: string }
  | { readonly type: "text"; readonly execution: string; readonly text: string }
  | { readonly type: "turn_ended"; readonly execution: string; readonly turn: number; readonly usage: ModelUsage }
  | {
      readonly type: "program_started";
      readonly execution: string;
      readonly callId: string;
      readonly source: string;
      readonly hosted: boolean;
    }
  | {
      readonly type: "program_ended";
      readonly execution: string;
      readonly callId: string;
      /** Of a program that ran here. */
      readonly outcome?: Outcome;
      readonly isError: boolean;
      readonly hosted: boolean;
    }
  | { readonly type: "conversation_ended"; readonly execution: string; readonly ending: AgentEnding }
  | ExecutionEvent;
