import type { ExecutionId } from "../../base/index.ts";

/** What a conversation does for a program after one that did not complete. */
export type ReuseOption = "after-failure" | "never";
export const REUSE_OPTIONS: readonly ReuseOption[] = ["after-failure", "never"];

export interface FailedProgram {
  readonly execution: ExecutionId;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Number of the turn that made it. */
  readonly turn: number;
  /** Whether another program ran since, which may have changed what this one has read. */
  readonly isOld: boolean;
}

/** The programs of a conversation that did not complete, and that no program has corrected. Each is corrected once. */
export class FailedPrograms {
  #failed: readonly FailedProgram[] = [];
  /** What the programs correct that were begun, by their calls. */
  readonly #corrected = new Map<string, ExecutionId | undefined>();

  /** The last one that a program of this turn can correct: the model has read of those of earlier turns alone. */
  before(turn: number): FailedProgram | undefined {
    return this.#failed.findLast((one) => one.turn < turn);
  }

  /** Whether the program of a call was begun before: it goes on with what it corrects. */
  hasBegun(callId: string): boolean {
    return this.#corrected.has(callId);
  }

  correctedBy(callId: string): ExecutionId | undefined {
    return this.#corrected.get(callId);
  }

  /** The program of a call has begun, and is in the journal. */
  begin(callId: string, after: ExecutionId | undefined): void {
    this.#corrected.set(callId, after);
    this.#failed = this.#failed.filter(({ execution }) => execution !== after).map((one) => ({ ...one, isOld: true }));
  }

  /** A program that is in the journal has ended without completing. */
  fail(program: Omit<FailedProgram, "isOld">): void {
    this.forget(program.execution);
    this.#failed = [...this.#failed, { ...program, isOld: false }];
  }

  /** A program that is not in the journal any more cannot be gone on from. */
  forget(execution: ExecutionId): void {
    this.#failed = this.#failed.filter((one) => one.execution !== execution);
  }
}
