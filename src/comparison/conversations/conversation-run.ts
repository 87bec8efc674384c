import type { Opening, CallResult } from "../../models/model.ts";
import type { ExecuteOptions } from "../../programs/execute-options.ts";
import type { LimitChanges } from "../../programs/limits.ts";
import type { Outcome } from "../../programs/outcome.ts";
import type { Runtime } from "../../runtime.ts";
import type { MadeCall } from "./calls-of.ts";
import type { TranscriptTurn } from "../../agent/from-journal/transcript.ts";

/** Where a comparison takes place. */
export interface ComparisonContext {
  readonly runtime: Runtime;
  /** Options of every program and conversation of the comparison. The signal also aborts when the runtime closes. */
  readonly scope: {
    readonly tenant?: string;
    readonly language: NonNullable<ExecuteOptions["language"]>;
    readonly limits: LimitChanges;
    readonly signal: AbortSignal;
  };
}

/** One conversation, ended. */
export interface ConversationRun {
  readonly opening: Opening;
  readonly turns: readonly TranscriptTurn[];
  /** Outcomes of its programs, in order. */
  readonly outcomes: readonly Outcome[];
  /** Calls of its last program. */
  readonly layers: readonly (readonly MadeCall[])[];
  /** UTF-8 bytes of JSON that tools returned. */
  readonly resultBytes: number;
}

/** Direct calls without this package's instructions and labels, as a plain loop sends them: the measure of programs. */
export function asPlainLoop(run: ConversationRun): ConversationRun {
  return {
    ...run,
    opening: { ...run.opening, instructions: "" },
    turns: run.turns.map((one) => ({ ...one, results: one.results.map(plainResult) })),
  };
}

/** Without `isError`, for which a provider's block may need a word in the text. */
function plainResult({ callId, text, isJson, provenance: { tool, bytes } }: CallResult): CallResult {
  return { callId, text, isJson, isError: false, provenance: { tool, bytes } };
}
