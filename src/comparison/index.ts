export { compare } from "./compare.ts";
export type { CompareOptions } from "./compare.ts";
export type { Comparison, Mode, ModeMeasure, ProviderMeasure } from "./measures.ts";
export type { ComparisonTask, PlannedCall } from "./task.ts";
export type { Spent } from "./tokens.ts";
export { PRICES } from "../models/prices.ts";
export type { Price, PriceTable } from "../models/prices.ts";
export type { ProviderName } from "../models/provider/providers.ts";
export { countTokens } from "../tools/count-tokens.ts";
