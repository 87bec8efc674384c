import type { ExecutionId } from "../../base/index.ts";
import type { Correction } from "../../executions/from-journal/earlier-execution.ts";
import type { Past } from "../../executions/from-journal/past-execution.ts";
import { refText } from "../../gate/reuse/earlier-calls.ts";

/** What a conversation does for a program after one that did not complete. */
export type ReuseOption = "after-failure" | "never";
export const REUSE_OPTIONS: readonly ReuseOption[] = ["after-failure", "never"];

export interface FailedProgram {
  readonly execution: ExecutionId;
  readonly startedAt: number;
  readonly turn: number;
  /** Whether another program ran since, which may have changed what this one has read. */
  readonly isOld: boolean;
  /** Number of the last turn whose programs can correct it: a program of that turn has taken over what it has done, and failed. */
  readonly until: number;
}

export type FailedPrograms = ReturnType<typeof failedPrograms>;

/** The programs of a conversation that did not complete. Others correct them until each of their changes stands for a call. */
export function failedPrograms() {
  const used = new Map<string, string>();
  const corrected = new Map<string, Correction | undefined>();
  let failed: readonly FailedProgram[] = [];
  const isCorrected = (callId: string, { execution }: FailedProgram) => {
    const corrects = corrected.get(callId);
    return corrects?.execution === execution || corrects?.besides?.includes(execution) === true;
  };
  const forget = (execution: ExecutionId) => {
    failed = failed.filter((one) => one.execution !== execution);
  };
  return {
    /** Earlier calls that stand for calls of programs that did not fail, by the calls of these programs. */
    used,
    /** What the programs correct that were begun, by their calls. Such a program goes on with it. */
    corrected,
    /** Those that a program of this turn corrects: the model has read of those of earlier turns alone. */
    before: (turn: number) => failed.filter((one) => one.turn < turn && turn <= one.until),
    begin(callId: string, corrects: Correction | undefined): void {
      corrected.set(callId, corrects);
      failed = failed.map((one) => ({ ...one, isOld: true }));
    },
    /** The program of a call goes on, or has completed, as its journal tells. */
    note(callId: string, { state, outcome, standIns }: Past): void {
      for (const { earlier } of standIns) used.set(refText(earlier), callId);
      if (outcome && state.takenOver.values().every((ref) => used.has(ref)))
        failed = failed.filter((one) => !isCorrected(callId, one));
    },
    /** The program of a call has ended without completing: what stood for its calls is to be given again, by its journal if that has it. */
    fail(callId: string, program: Omit<FailedProgram, "isOld" | "until"> | undefined): void {
      for (const [ref, by] of used) if (by === callId) used.delete(ref);
      if (!program) return;
      forget(program.execution);
      const others = failed.map((one) => (isCorrected(callId, one) ? { ...one, until: program.turn } : one));
      failed = [...others, { ...program, isOld: false, until: Infinity }];
    },
    /** A program that is not in the journal any more cannot be gone on from. */
    forget,
  };
}
