import type { Limits } from "./limits.ts";

/** What went wrong in a program, in the program's own terms. */
export interface Fault {
  /** Class of the error that was thrown. */
  readonly name: string;
  readonly message: string;
  /** Stable word for faults that this package knows: a refusal's or failure's code, `syntax`, `calls_not_awaited` … */
  readonly code?: string;
  /** The tool whose call was refused or failed. */
  readonly tool?: string;
  /** Position in the source as it was handed in, both counted from 1. */
  readonly line?: number;
  readonly column?: number;
  /** That line of the source. */
  readonly excerpt?: string;
}

/**
 * `replay_diverged`: an engine died, and in another one the program did not do what is recorded. An honest program does
 * so where it acts on how full memory was when there was none left, or, in a container, on how deep the stack was when it
 * overflowed: V8 does not keep those the same.
 */
export type CrashCode = "engine_died" | "bridge_broken" | "replay_diverged";

/**
 * What can stop a program: a limit of its own, `heldBytes`, which all executions of a runtime share, or `queue`, the
 * number of programs that may wait for an engine.
 */
export type StoppedBy = keyof Limits | "heldBytes" | "queue";

/** How an execution ended. Exactly one, always. */
export type Outcome =
  /**
   * `value` is undefined where the program returned nothing. A value of more than `outputBytes` is a `Stub` in a report;
   * in an event only its beginning.
   */
  | { readonly type: "completed"; readonly value: unknown }
  /** The program threw, or could not be run at all. */
  | { readonly type: "failed"; readonly fault: Fault }
  /** A limit was reached. `seen` is at least what was reached. */
  | { readonly type: "stopped"; readonly limit: StoppedBy; readonly allowed: number; readonly seen: number }
  /** The engine or the bridge broke. `detail` is for the operator. */
  | { readonly type: "crashed"; readonly code: CrashCode; readonly detail: string }
  | { readonly type: "cancelled" };

/** A completed outcome, with what the host needs to report the value. */
export interface Completed extends Extract<Outcome, { type: "completed" }> {
  /** How many entries the lists and records have that stand in `value` with their first ones only. */
  readonly counts?: ReadonlyMap<object, number>;
  /** The whole value as the JSON text that crossed the bridge. */
  readonly text: string | undefined;
}

/** An outcome inside the host. */
export type Ending = Completed | Exclude<Outcome, { type: "completed" }>;
