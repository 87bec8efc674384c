import type { CallResult, ModelTurn, ModelUsage } from "../models/model.ts";
import type { AgentEnding } from "./ending.ts";

/** Where programs run: here, at the provider, or nowhere. */
export type ProgramsOption = "local" | "hosted" | "none";
export const PROGRAMS_OPTIONS: readonly ProgramsOption[] = ["local", "hosted", "none"];

/** One turn of the model, and what its calls were answered. */
export interface TranscriptTurn {
  readonly turn: ModelTurn;
  /** One for each call, in the calls' order; those that were not done say so. */
  readonly results: readonly CallResult[];
}

/**
 * A conversation as plain JSON. It holds no key and nothing that only the provider can read, so it can be kept and
 * shown; whoever may read it reads what the tools returned.
 */
export interface Transcript {
  readonly format: 1;
  readonly model: string;
  readonly task: string;
  readonly programs: ProgramsOption;
  readonly tools: readonly string[];
  readonly turns: readonly TranscriptTurn[];
  readonly ending: AgentEnding;
}

/** Of a conversation: tokens and calls of its programs, and of agents that are its tools, are in it. */
export interface AgentUsage extends ModelUsage {
  /** The model's own. */
  readonly turns: number;
  /** Programs that ran here count as one each, and their calls besides. */
  readonly calls: number;
}
