import type { Mode, Verdict } from "../comparison.ts";
import type { Opening } from "../../models/model.ts";
import type { Outcome } from "../../programs/outcome.ts";
import type { MadeCall } from "../../programs/calls-of.ts";
import type { TranscriptTurn } from "../../agent/transcript.ts";

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

/** All conversations of one task. */
export interface TaskRun {
  /** Direct calls, one layer a turn. Undefined where one of the tools may not be called directly. */
  readonly direct: ConversationRun | undefined;
  /** The same with each result cut. */
  readonly truncated: ConversationRun | undefined;
  readonly best: ConversationRun | undefined;
  readonly programmatic: ConversationRun;
  readonly probed: ConversationRun;
  readonly retried: ConversationRun;
  readonly verdicts: ReadonlyMap<Mode, Verdict>;
  /** Direct calls, in layers. */
  readonly plan: readonly (readonly MadeCall[])[];
  /** Tools of the plan that only programs may call. */
  readonly barred: readonly string[];
  readonly notes: readonly string[];
}
