import type { Told } from "../gate/call-ledger.ts";
import type { ModelUsage } from "../models/model.ts";
import type { ExecutionEvent } from "../programs/execution.ts";
import type { Outcome, Waiting } from "../programs/outcome.ts";
import type { AgentEnding } from "./ending.ts";

/**
 * What happens in a conversation. `execution` is its id, or in an `ExecutionEvent` the id of the program or agent that it
 * called.
 */
export type AgentEvent =
  | (Told & { readonly type: "conversation_started"; readonly model: string; readonly task: string })
  | (Told & { readonly type: "text"; readonly text: string })
  /** A piece of a summary of the model's reasoning, if `reasoning.summary` asks for it. */
  | (Told & { readonly type: "reasoning"; readonly text: string })
  /** A piece of the input that the model writes for a call. For display: it may never become whole, and nothing runs before it is. */
  | (Told & {
      readonly type: "argument";
      /** Position of the call in its turn, from 0. */
      readonly index: number;
      /** `run_program` for programs. */
      readonly tool: string;
      readonly text: string;
    })
  /** The previous model has failed for good, and `model` goes on. */
  | (Told & { readonly type: "model_changed"; readonly model: string })
  /** A turn of the model: its text, and its calls before they are made. */
  | (Told & {
      readonly type: "turn_ended";
      readonly turn: number;
      readonly text: string;
      /** `tool` is `run_program` for programs. */
      readonly calls: readonly { readonly callId: string; readonly tool: string }[];
      readonly usage: ModelUsage;
    })
  | (Told & {
      readonly type: "program_started";
      readonly callId: string;
      readonly source: string;
      readonly hosted: boolean;
    })
  | (Told & {
      readonly type: "program_ended";
      readonly callId: string;
      /** Of a program that ran locally. */
      readonly outcome?: Outcome;
      readonly isError: boolean;
      readonly hosted: boolean;
    })
  | (Told & { readonly type: "conversation_waiting"; readonly waiting: Waiting })
  /** It has come to an ending, and the user may say more. */
  | (Told & { readonly type: "conversation_resting"; readonly ending: AgentEnding })
  | (Told & { readonly type: "conversation_ended"; readonly ending: AgentEnding })
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
