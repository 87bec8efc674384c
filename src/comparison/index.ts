export { compare } from "./compare.ts";
export type { CompareOptions, Comparison, ModeMeasure, ProviderMeasure } from "./compare.ts";
export type { Mode } from "./conversations.ts";
export type { ComparisonTask } from "./task.ts";
export type { Spent } from "./tokens.ts";
export { PRICES } from "../models/prices.ts";
export type { Price, PriceTable } from "../models/prices.ts";
export type { ProviderName } from "../models/provider/providers.ts";
export { countTokens } from "../tools/count-tokens.ts";
