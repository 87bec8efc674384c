import { type ExecutionId, PortcullisError } from "../../base/index.ts";
import type { REASONS } from "../../conversations/index.ts";
import type { ExecuteOptions } from "../../executions/execute-options.ts";
import type { Report } from "../../executions/output/index.ts";
import type { Runtime } from "../../runtime/create-runtime.ts";

/** A program of a client. `runtime` has the tools and the limits of its key. */
export interface ClientProgram {
  readonly runtime: Runtime;
  readonly program: string;
  readonly execution: ExecutionId;
  readonly settings: Pick<ExecuteOptions, "language" | "limits" | "result" | "corrects" | "maxAgeMs">;
}

/** Who drives what clients begin and decide: this process, or the workers of a fleet. */
export interface Driving {
  /** Begins to take up what was left open. */
  start(): Promise<void>;
  /** Takes up nothing more, and ends nothing more of what clients have left. */
  stop(): void;
  /** Ends what this process drives, or leaves it open once `drainMs` have passed. Resolves with how much it left open. */
  drain(drainMs: number): Promise<number>;
  /** Takes up all executions whose drivers are gone, and ends what clients of the gateway have left. Resolves with their number once they have ended or wait. */
  recover(): Promise<number>;
  /** Runs a program until it ends or waits. Calls `onBegun` once the journal has it. */
  run(program: ClientProgram, onBegun: () => void): Promise<Report>;
  /** Continues an execution after a decision or a result was noted. Calls `over` once that takes no place of its key any more. */
  driveOn(id: ExecutionId, tenant: string, over: () => void): void;
  /** Asks the driver of an execution in another process to end it. Resolves with false if there can be none. */
  ask(id: ExecutionId, request: keyof typeof REASONS): Promise<boolean>;
}

/** Codes of errors that mean that another driver has the execution, or that it is gone. */
const OTHERS: ReadonlySet<string> = new Set([
  "execution_driven",
  "head_moved",
  "execution_unknown",
  "runtime_suspended",
  "runtime_closed",
]);

export function isOthers(error: unknown): boolean {
  return PortcullisError.is(error) && OTHERS.has(error.code);
}
