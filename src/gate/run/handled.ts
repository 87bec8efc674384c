import type { Overdraft } from "../admit/budget.ts";
import type { Failure, Value } from "../answer.ts";

export interface Succeeded {
  readonly answer: Value;
  /** Kind of the result, like `array of 200`. */
  readonly shape: string;
}

export interface Failed {
  readonly answer: Failure;
  /** The cause, for the operator. */
  readonly error?: unknown;
  readonly overdraft?: Overdraft;
}

/** What came of a handler, before it counts as the call's answer. */
export type Handled = Succeeded | Failed;
