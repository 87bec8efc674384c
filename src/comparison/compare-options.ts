import {
  abortSignal,
  listener,
  object,
  option,
  type OptionsOf,
  type Resolved,
  text,
  withDefault,
} from "../option-rules/options.ts";
import { AT_ONCE, CUT_TOKENS, WINDOW_TOKENS } from "./compare-numbers.ts";
import { factorsOf } from "./accounting/accounting.ts";
import { PRICES, priceOf, type PriceTable, readPrices, REFERENCE_PRICE } from "../models/prices.ts";
import type { WireName } from "./wires/wire.ts";
import { installedWires, missingWires, WIRES } from "./wires/wires.ts";
import { countTokens } from "../tools/count-tokens.ts";
import { EXECUTE_RULES } from "../programs/execute-options.ts";
import type { ComparisonTask } from "./comparison-task.ts";
import { countOnce } from "./accounting/count-exchange.ts";

export const COMPARE_RULES = {
  /** Providers whose requests are counted; by default all whose SDK is installed. */
  wires: option<readonly WireName[]>(
    `some of ${[...WIRES.keys()].join(", ")}`,
    (value) => Array.isArray(value) && value.every((name) => WIRES.has(name)),
  ),
  /** Calls that a model makes in one turn; 10 by default. */
  atOnce: AT_ONCE,
  /** Tokens to which results are cut, in the mode that cuts them; 2,500 by default. */
  cutTokens: CUT_TOKENS,
  /** Size of the context window, in tokens; 200,000 by default. */
  windowTokens: WINDOW_TOKENS,
  /** Prices in place of the package's own. */
  prices: object<PriceTable>("prices by model"),
  /** Model of the price table whose prices weight the tokens; by default the ratios 1 : 5 : 1.25 : 0.1, of no model. */
  pricedAs: withDefault(text({ expected: "the name of a model" }), REFERENCE_PRICE),
  /** Called with the name of each mode and wire that has been measured. */
  onProgress: listener<(done: string) => void>(),
  /** Language of the task's program; JavaScript by default. */
  language: EXECUTE_RULES.language,
  /** Changes to the limits of the runtime, for programs. */
  limits: EXECUTE_RULES.limits,
  /** The tenant that programs run for; the runtime's by default. */
  tenant: EXECUTE_RULES.tenant,
  /** Cancels the comparison. */
  signal: abortSignal(),
};

export type CompareOptions = OptionsOf<typeof COMPARE_RULES>;

/** The options of a comparison, checked and with their defaults. */
export type ComparisonRequest = ReturnType<typeof comparisonRequest>;

/** The request that these options make. Throws `option_invalid` for a wrong table of prices. */
export function comparisonRequest(
  task: ComparisonTask,
  { atOnce, cutTokens, windowTokens, wires, prices, pricedAs, onProgress }: Resolved<typeof COMPARE_RULES>,
) {
  const table = prices === undefined ? PRICES : readPrices(prices);
  return {
    task,
    wires: wires === undefined ? installedWires() : wires.flatMap((name) => WIRES.get(name) ?? []),
    /** Wires that are left out, because their SDK is not installed. */
    left: wires === undefined ? missingWires() : [],
    atOnce,
    cutTokens,
    windowTokens,
    factors: factorsOf(priceOf(table, pricedAs)),
    /** Counters in the reported encoding and in a second encoding, which shows how much the choice of encoding matters. */
    count: countOnce((text) => countTokens(text)),
    countOther: countOnce((text) => countTokens(text, "cl100k_base")),
    onProgress: (done: string) => onProgress?.(done),
  };
}
