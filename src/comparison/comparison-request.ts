import type { Factors } from "./accounting/accounting.ts";
import type { TokenCounter } from "./accounting/exchange.ts";
import type { Wire } from "./wires/wire.ts";
import type { Runtime } from "../runtime.ts";
import type { ComparisonTask } from "./comparison-task.ts";

/** Where a comparison takes place. */
export interface ComparisonContext {
  readonly runtime: Runtime;
  /** Options of every program and conversation that it runs there. The signal also aborts when the runtime closes. */
  readonly scope: { readonly tenant?: string; readonly signal: AbortSignal };
}

/** What is compared, and by what measure. */
export interface ComparisonRequest {
  readonly task: ComparisonTask;
  readonly wires: readonly Wire[];
  /** Calls that a model makes at once, as `direct-parallel` has it. */
  readonly atOnce: number;
  /** Tokens that are left of each result in `direct-truncated`. */
  readonly cutTokens: number;
  /** Tokens that a context may have. */
  readonly windowTokens: number;
  readonly factors: Factors;
  /** Of the encoding that is reported, and of another, to show that the choice matters little. */
  readonly count: TokenCounter;
  readonly countOther: TokenCounter;
  readonly onProgress: (done: string) => void;
}
