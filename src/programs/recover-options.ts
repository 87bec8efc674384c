import type { ExecutionId } from "../journal/execution-id.ts";
import { callback, type OptionsOf, wholeNumber } from "../options/options.ts";

/** An execution that is about to be taken up. */
export interface RecoveredExecution {
  readonly execution: ExecutionId;
  readonly tenant: string;
}

export const RECOVER_RULES = {
  /**
   * Number of executions that are taken up at once; 8 by default: half of the programs that one core has engines for, so
   * that new programs find some after a crash.
   */
  concurrency: wholeNumber({ min: 1, max: 10_000, default: 8 }),
  /** Gives the host's own value for an execution. Handlers and `approve` get it; a program and a model do not. */
  context: callback<(recovered: RecoveredExecution) => unknown>(),
};

export type RecoverOptions<Context = unknown> = Omit<OptionsOf<typeof RECOVER_RULES>, "context"> &
  (undefined extends Context
    ? {
        /** Gives the host's own value for an execution. Handlers and `approve` get it; a program and a model do not. */
        readonly context?: (recovered: RecoveredExecution) => Context;
      }
    : {
        /** Gives the host's own value for an execution. Handlers and `approve` get it; a program and a model do not. */
        readonly context: (recovered: RecoveredExecution) => Context;
      });
