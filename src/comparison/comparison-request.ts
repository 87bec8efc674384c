import type { Factors } from "./accounting/accounting.ts";
import type { TokenCounter } from "./accounting/exchange.ts";
import type { Wire } from "./wires/wire.ts";
import type { ExecuteOptions } from "../programs/execute-options.ts";
import type { LimitChanges } from "../programs/limits.ts";
import type { Runtime } from "../runtime.ts";
import type { ComparisonTask } from "./comparison-task.ts";

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

/** The options of a comparison, checked and with their defaults. */
export interface ComparisonRequest {
  readonly task: ComparisonTask;
  readonly wires: readonly Wire[];
  /** Wires that are left out, because their SDK is not installed. */
  readonly left: readonly Wire[];
  readonly atOnce: number;
  readonly cutTokens: number;
  readonly windowTokens: number;
  readonly factors: Factors;
  /** Counters in the reported encoding and in a second encoding, which shows how much the choice of encoding matters. */
  readonly count: TokenCounter;
  readonly countOther: TokenCounter;
  readonly onProgress: (done: string) => void;
}
