import { type Exchange, sum } from "./count-exchange.ts";
import type { Price } from "../../models/prices.ts";

/** Tokens of a conversation that pass through its model. Every turn reads the whole conversation before it again. */
export interface Spent {
  readonly turns: number;
  /** Tokens read, over all turns. */
  readonly input: number;
  /** Tokens written: calls, programs, text, the answer. */
  readonly output: number;
  /** Tokens of the largest context. */
  readonly peak: number;
  /** Of `input`: instructions and definitions of tools, over all turns. */
  readonly definitions: number;
  /** Of `input`: results of calls and programs, over all turns. */
  readonly results: number;
  /** Of `input`: the context of the turn before, which a cache can hold. */
  readonly cacheable: number;
  /** The provider was not asked to keep anything, and does not by itself. */
  readonly isUncached?: boolean;
}

/** Context before each turn, in tokens. */
export function contextsOf({ instructions, definitions, question, turns }: Exchange): readonly number[] {
  const contexts: number[] = [];
  let context = instructions + definitions + question;
  for (const { words, calls } of turns) {
    contexts.push(context);
    context += words + sum(calls.map(({ written, read }) => written + read));
  }
  return contexts;
}

export function spentBy(exchange: Exchange): Spent {
  const { instructions, definitions, turns, isUncached = false } = exchange;
  const contexts = contextsOf(exchange);
  const isLast = (turn: number) => turns.length - 1 - turn;
  return {
    turns: turns.length,
    input: sum(contexts),
    output: sum(turns.map(({ words, calls }) => words + sum(calls.map(({ written }) => written)))),
    peak: contexts.at(-1) ?? 0,
    definitions: turns.length * (instructions + definitions),
    results: sum(turns.map(({ calls }, turn) => isLast(turn) * sum(calls.map(({ read }) => read)))),
    cacheable: isUncached ? 0 : sum(contexts.slice(0, -1)),
    ...(isUncached ? { isUncached } : {}),
  };
}

/** Cost in tokens of uncached input. Other tokens are weighted by their price relative to that. */
export interface Cost {
  readonly uncached: number;
  /**
   * With the whole context of the turn before read from a cache, and the rest written to it; as `uncached` if the requests
   * ask for no cache and the provider has none of its own accord.
   */
  readonly cached: number;
}

export function costOf(
  { input, output, cacheable, isUncached = false }: Spent,
  { outputFactor, cacheWriteFactor, cacheReadFactor }: Factors,
): Cost {
  const written = output * outputFactor;
  if (isUncached) return { uncached: input + written, cached: input + written };
  return {
    uncached: input + written,
    cached: cacheable * cacheReadFactor + (input - cacheable) * cacheWriteFactor + written,
  };
}

export type Factors = ReturnType<typeof factorsOf>;

/** Prices relative to that of uncached input. */
export function factorsOf({ input, output, cacheWrite, cacheRead }: Price) {
  return { outputFactor: output / input, cacheWriteFactor: cacheWrite / input, cacheReadFactor: cacheRead / input };
}
