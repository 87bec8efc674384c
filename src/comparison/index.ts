export { compare } from "./compare.ts";
export type { CompareOptions } from "./compare-options.ts";
export type { Comparison, Mode, ModeMeasure, ToolMeasure, Verdict, WireMeasure } from "./comparison.ts";
export type { ComparisonTask, PlannedCall } from "./comparison-task.ts";
export type { Cost, Spent } from "./accounting/accounting.ts";
export { PRICES } from "../models/prices.ts";
export type { Price, PriceTable } from "../models/prices.ts";
export type { WireName } from "./wires/wire.ts";
export { countTokens } from "../tools/count-tokens.ts";
