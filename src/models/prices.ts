import { optionError, PortcullisError } from "../base/index.ts";
import type { ModelUsage } from "./model.ts";
import table from "./prices.json" with { type: "json" };

/** What a model's tokens cost, in US dollars per million. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheWrite: number;
  readonly cacheRead: number;
  /** Page that the price was read from, and the day. */
  readonly source: string;
}

/** Prices as of one day. A report names the day. */
export interface PriceTable {
  /** Like 2026-11-20. */
  readonly date: string;
  readonly models: Readonly<Record<string, Price>>;
}

export const PRICES: PriceTable = table;

/** Entry whose usual price ratios weight the tokens if no model is named. It is not the price of any provider. */
export const REFERENCE_PRICE = "reference";

/** The price of a model. Throws `option_invalid` if the table has none, because a guess would cost real money. */
export function priceOf({ models, date }: PriceTable, model: string): Price {
  const price = Object.hasOwn(models, model) ? models[model] : undefined;
  if (price) return price;
  throw new PortcullisError(
    "option_invalid",
    `There is no price for the model "${model}" in the table of ${date}, which has ${Object.keys(models).join(", ")}. Pass a table that has it: the option prices, or --prices file.json on the command line.`,
  );
}

/** Upper bound of the cost in US dollars: input that was not read from a cache is priced as written to a cache if that is dearer. */
export function dollarsOf({ inputTokens, outputTokens, cachedInputTokens }: ModelUsage, price: Price): number {
  const fresh = (inputTokens - cachedInputTokens) * Math.max(price.input, price.cacheWrite);
  return (fresh + cachedInputTokens * price.cacheRead + outputTokens * price.output) / 1_000_000;
}

/** Checks a table of prices. Throws `option_invalid` with the place of a fault. */
export function readPrices(value: unknown): PriceTable {
  const { date, models } = (typeof value === "object" && value !== null ? value : {}) as Partial<PriceTable>;
  if (typeof date !== "string" || !/^\d{4}-\d{2}-\d{2}$/.test(date))
    throw optionError("prices.date", "the day of the prices, like 2026-11-20", date);
  if (typeof models !== "object" || models === null) throw optionError("prices.models", "prices by model", models);
  for (const [model, price] of Object.entries(models)) {
    for (const name of ["input", "output", "cacheWrite", "cacheRead"] as const) {
      const dollars: unknown = (price as Partial<Price> | null)?.[name];
      if (
        typeof dollars !== "number" ||
        !Number.isFinite(dollars) ||
        dollars < 0 ||
        (name === "input" && dollars === 0)
      )
        throw optionError(`prices.models["${model}"].${name}`, "US dollars per million tokens", dollars);
    }
  }
  return { date, models };
}
