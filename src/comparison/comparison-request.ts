import type { Factors } from "./accounting/accounting.ts";
import type { TokenCounter } from "./accounting/exchange.ts";
import type { Wire } from "./wires/wire.ts";
import type { AgentHost } from "../agent/agent-as-tool.ts";
import type { ComparisonTask } from "./comparison-task.ts";

/** Where a comparison takes place: the same sandbox and rules as everything else of a runtime. */
export interface Work extends AgentHost {
  readonly signal: AbortSignal;
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
