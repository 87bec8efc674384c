export { compare } from "./compare.ts";
export type { CompareOptions } from "./compare-options.ts";
export type { Comparison, Mode, ModeMeasure, ToolMeasure, Verdict, WireMeasure } from "./comparison.ts";
export type { ComparisonTask, PlannedCall } from "./comparison-task.ts";
export type { Cost, Spent } from "./accounting/accounting.ts";
export { type Price, PRICES, type PriceTable } from "./accounting/prices.ts";
export type { WireName } from "./wires/wire.ts";
