import type { Waiting } from "./waiting.ts";
import type { Limits } from "./limits.ts";

/** The error that ended a program, described in terms of its source. */
export interface Fault {
  /** Class name of the thrown error. */
  readonly name: string;
  readonly message: string;
  /** Stable code of a fault that this package defines: a refusal's or failure's code, `syntax`, `calls_not_awaited` … */
  readonly code?: string;
  /** The tool whose call was refused or failed. */
  readonly tool?: string;
  /** A tool whose promise the program used as if it were its result, before it failed with this error. */
  readonly unawaited?: string;
  /** Position in the original source, both counted from 1. */
  readonly line?: number;
  readonly column?: number;
  /** That line of the source. */
  readonly excerpt?: string;
}

/**
 * `replay_diverged`: the engine or the host died, and the replay in another one differed from the journal. An honest program can
 * cause this if it acts on the point at which memory ran out or, in a container, on the stack depth at an overflow: V8
 * does not reproduce those.
 */
export type CrashCode = "engine_died" | "bridge_broken" | "replay_diverged";

/**
 * The limit that stopped a program: one of its own `Limits`, but for `waitMs`, which only ends calls; `heldBytes`, which all executions of a runtime share; or
 * `queue`, the number of programs that may wait for an engine.
 */
export type StoppedBy = Exclude<keyof Limits, "waitMs"> | "heldBytes" | "queue";

/** How an execution ended. Every execution has exactly one. */
export type Outcome =
  /**
   * `value` is undefined if the program returned nothing. A value of more than `outputBytes` is a `Stub` in a report,
   * and only its beginning in an event.
   */
  | { readonly type: "completed"; readonly value: unknown }
  /** The program threw, or could not be run at all. */
  | { readonly type: "failed"; readonly fault: Fault }
  /** A limit was reached. `seen` is a lower bound of the amount that exceeded it. */
  | { readonly type: "stopped"; readonly limit: StoppedBy; readonly allowed: number; readonly seen: number }
  /** The engine or the bridge broke. `detail` is for the operator. */
  | { readonly type: "crashed"; readonly code: CrashCode; readonly detail: string }
  | { readonly type: "cancelled" }
  /**
   * It has no outcome yet: it continues only with decisions or clients' results. `runtime.resume` takes it up again.
   */
  | Waiting;

/** A completed outcome with the fields the host needs to report the value. */
export interface Completed extends Extract<Outcome, { type: "completed" }> {
  /** Full number of entries of each list and record that is cut in `value`. */
  readonly counts?: ReadonlyMap<object, number>;
  /** The whole value, as the JSON text that crossed the bridge. */
  readonly text: string | undefined;
  /** The value as the schema of the result has transformed it, where there is a schema. */
  readonly checked?: { readonly value: unknown };
}

/** An outcome as the host represents it. */
export type Ending = Completed | Exclude<Outcome, { type: "completed" }>;
