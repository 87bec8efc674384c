import type { Mode, Verdict } from "../comparison.ts";
import type { Opening } from "../../models/model.ts";
import type { Outcome } from "../../output/report.ts";
import type { MadeCall } from "../../programs/calls-of.ts";
import type { TranscriptTurn } from "../../agent/transcript.ts";

/** A conversation as it was had. */
export interface RanConversation {
  readonly opening: Opening;
  readonly turns: readonly TranscriptTurn[];
  /** Of its programs, in order. */
  readonly outcomes: readonly Outcome[];
  /** Calls of its last program. */
  readonly layers: readonly (readonly MadeCall[])[];
  /** UTF-8 bytes of JSON that tools returned. */
  readonly resultBytes: number;
}

/** A task done both ways. */
export interface RanTask {
  /** All calls that need no answer of each other in one turn. Undefined where one of them may not be made directly. */
  readonly direct: RanConversation | undefined;
  /** The same with each result cut. */
  readonly truncated: RanConversation | undefined;
  readonly best: RanConversation | undefined;
  readonly programmatic: RanConversation;
  readonly probed: RanConversation;
  readonly retried: RanConversation;
  readonly verdicts: ReadonlyMap<Mode, Verdict>;
  /** Direct calls, in layers. */
  readonly plan: readonly (readonly MadeCall[])[];
  readonly notes: readonly string[];
}
