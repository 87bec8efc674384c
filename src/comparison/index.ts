export { compare, type CompareOptions, type Comparison, type ModeMeasure, type ProviderMeasure } from "./compare.ts";
export type { Mode } from "./conversations.ts";
export type { ComparisonTask } from "./task.ts";
export type { Spent } from "./tokens.ts";
export type { ProviderName } from "../models/provider/providers.ts";
export { countTokens } from "../tools/count-tokens.ts";
