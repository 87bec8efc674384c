import type { ExecutionId } from "../journal/execution-id.ts";
import type { ModelUsage } from "../models/model.ts";
import type { ExecutionEvent } from "../programs/execute.ts";
import type { Outcome } from "../programs/outcome.ts";
import type { Waiting } from "../programs/waiting.ts";
import type { AgentEnding } from "./ending.ts";

/**
 * What happens in a conversation. `execution` is its id, or in an `ExecutionEvent` the id of the program or agent that it
 * called.
 */
export type AgentEvent =
  | { readonly type: "conversation_started"; readonly execution: ExecutionId; readonly model: string }
  | { readonly type: "text"; readonly execution: ExecutionId; readonly text: string }
  /** A piece of a summary of the model's reasoning, where `reasoning.summary` asks for it. */
  | { readonly type: "reasoning"; readonly execution: ExecutionId; readonly text: string }
  /** A piece of the input that the model writes for a call. For display: it may never become whole, and nothing runs before it is. */
  | {
      readonly type: "argument";
      readonly execution: ExecutionId;
      /** Position of the call in its turn, from 0. */
      readonly index: number;
      /** `run_program` for programs. */
      readonly tool: string;
      readonly text: string;
    }
  /** The model before has failed for good, and this one goes on. */
  | { readonly type: "model_changed"; readonly execution: ExecutionId; readonly model: string }
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
      /** Of a program that ran locally. */
      readonly outcome?: Outcome;
      readonly isError: boolean;
      readonly hosted: boolean;
    }
  | { readonly type: "conversation_waiting"; readonly execution: ExecutionId; readonly waiting: Waiting }
  /** It has come to an ending, and the user may say more. */
  | { readonly type: "conversation_resting"; readonly execution: ExecutionId; readonly ending: AgentEnding }
  | { readonly type: "conversation_ended"; readonly execution: ExecutionId; readonly ending: AgentEnding }
  | ExecutionEvent;

const EXECUTION_EVENT_OF_EACH_TYPE: Readonly<Record<ExecutionEvent["type"], true>> = {
  execution_started: true,
  execution_queued: true,
  output: true,
  execution_waiting: true,
  execution_ended: true,
  call_started: true,
  call_retried: true,
  call_ended: true,
};

const EXECUTION_EVENTS: ReadonlySet<string> = new Set(Object.keys(EXECUTION_EVENT_OF_EACH_TYPE));

export function isExecutionEvent(event: AgentEvent): event is ExecutionEvent {
  return EXECUTION_EVENTS.has(event.type);
}
