import { type KeptTurn, resultsInOrder } from "./conversation-state.ts";
import type { CallResult, ModelTurn, ModelUsage } from "../../models/model.ts";
import type { AgentEnding } from "../ending.ts";
import type { ProgramsOption } from "../prompt/programs-option.ts";
import type { SaidMessage } from "../prompt/said-message.ts";

/** Maximum of calls in one turn. A hosted program makes some hundreds at once. */
export const MAX_TURN_CALLS = 1000;
/** Maximum of what one turn tells of the provider's own programs and calls. */
export const MAX_TURN_HOSTED = 2 * MAX_TURN_CALLS;
/** Characters of a call's id, and of its tool: the state of a conversation finds calls by them. */
export const MAX_ID_LENGTH = 10_000;

/** Whether a call of a turn has a longer id, or a tool with a longer name. */
export function hasLongNames({ calls, hosted }: Pick<ModelTurn, "calls" | "hosted">): boolean {
  const made = calls.flatMap((one) => [one.id, "tool" in one ? one.tool : ""]);
  const told = hosted.flatMap((one) => ("call" in one ? [one.call, one.tool] : []));
  return [...made, ...told].some((name) => name.length > MAX_ID_LENGTH);
}

/** One turn of the model, and the results of its calls. */
export interface TranscriptTurn {
  /** What was said to the model since the turn before; missing if nothing was said. The first turn also has the task. */
  readonly said?: readonly SaidMessage[];
  readonly turn: ModelTurn;
  /** The model that made the turn, which may be a fallback. Always there in transcripts of reports. */
  readonly model?: string;
  /**
   * A result for each call, in the same order; also for calls that were not made. In the last turn of a conversation
   * that waits, only the results that are there.
   */
  readonly results: readonly CallResult[];
}

export function transcriptTurns(turns: readonly KeptTurn[]): readonly TranscriptTurn[] {
  return turns.map((one) => {
    // What a model has told of its reasoning is for those who watched it: a transcript goes to others.
    const { reasoning, ...turn } = one.turn;
    return {
      ...(one.said.length > 0 ? { said: one.said } : {}),
      turn: reasoning === undefined ? one.turn : turn,
      model: one.model,
      results: resultsInOrder(one),
    };
  });
}

/**
 * A conversation as plain JSON. It contains no key and no data that only the provider can read. It contains what the
 * tools returned.
 */
export interface Transcript {
  readonly format: 1;
  readonly model: string;
  readonly task: string;
  readonly programs: ProgramsOption;
  readonly tools: readonly string[];
  readonly turns: readonly TranscriptTurn[];
  /** What was said after the last turn. */
  readonly said?: readonly SaidMessage[];
  readonly ending: AgentEnding;
}

/** Usage of a conversation, including its programs and the agents that it called. */
export interface AgentUsage extends ModelUsage {
  /** Turns of the conversation's own model. */
  readonly turns: number;
  /** Calls of tools that have ended, as many as `report.calls`. A program is none: the calls that it makes are. */
  readonly calls: number;
  /** Calls of tools of their own that providers have made, like searches; missing if there were none. */
  readonly hostedCalls?: number;
  /** Of `calls`, those that were answered as an earlier program was: no handler ran. Missing if none was. */
  readonly reused?: number;
}
