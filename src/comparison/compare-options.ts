import { optionError } from "../errors.ts";
import { factorsOf } from "./accounting/accounting.ts";
import { PRICES, priceOf, type PriceTable, readPrices, REFERENCE_PRICE } from "./accounting/prices.ts";
import { type Wire, type WireName } from "./wires/wire.ts";
import { WIRES } from "./wires/wires.ts";
import { countTokens } from "../tools/count-tokens.ts";
import { checkCount } from "../agent/agent-options.ts";
import type { ComparisonRequest } from "./comparison-request.ts";
import type { ComparisonTask } from "./comparison-task.ts";
import { countOnce } from "./accounting/count-once.ts";

export interface CompareOptions {
  /** Providers whose requests are counted; all four by default. */
  readonly wires?: readonly WireName[];
  /** Calls that a model makes in one turn; 10 by default. */
  readonly atOnce?: number;
  /** Tokens to which results are cut, in the mode that cuts them; 2,500 by default. */
  readonly cutTokens?: number;
  /** Size of the context window, in tokens; 200,000 by default. */
  readonly windowTokens?: number;
  /** Prices in place of the package's own. */
  readonly prices?: PriceTable;
  /** Model of the price table whose prices weight the tokens; by default the ratios 1 : 5 : 1.25 : 0.1, of no model. */
  readonly pricedAs?: string;
  /** Called with the name of each mode and wire that has been measured. */
  readonly onProgress?: (done: string) => void;
  readonly tenant?: string;
  readonly signal?: AbortSignal;
}

export const COMPARE_OPTIONS: readonly (keyof CompareOptions)[] = [
  "wires",
  "atOnce",
  "cutTokens",
  "windowTokens",
  "prices",
  "pricedAs",
  "onProgress",
  "tenant",
  "signal",
];

export const DEFAULT_AT_ONCE = 10;
export const DEFAULT_CUT_TOKENS = 2500;
export const DEFAULT_WINDOW_TOKENS = 200_000;

/** Checks the options and fills in defaults. Throws `option_invalid` for a wrong one. */
export function comparisonRequest(task: ComparisonTask, options: CompareOptions): ComparisonRequest {
  const { atOnce, cutTokens, windowTokens, wires, prices, pricedAs = REFERENCE_PRICE, onProgress } = options;
  checkCount("atOnce", atOnce, 1_000_000);
  checkCount("cutTokens", cutTokens, 1_000_000);
  checkCount("windowTokens", windowTokens, 100_000_000);
  const table = prices === undefined ? PRICES : readPrices(prices);
  return {
    task,
    wires: wires === undefined ? [...WIRES.values()] : wires.map(wireOf),
    atOnce: atOnce ?? DEFAULT_AT_ONCE,
    cutTokens: cutTokens ?? DEFAULT_CUT_TOKENS,
    windowTokens: windowTokens ?? DEFAULT_WINDOW_TOKENS,
    factors: factorsOf(priceOf(table, pricedAs)),
    count: countOnce((text) => countTokens(text)),
    countOther: countOnce((text) => countTokens(text, "cl100k_base")),
    onProgress: (done) => onProgress?.(done),
  };
}

function wireOf(name: WireName): Wire {
  const wire = WIRES.get(name);
  if (!wire) throw optionError("wires", `some of ${[...WIRES.keys()].join(", ")}`, name);
  return wire;
}
