import type { TokenCounter } from "./exchange.ts";

/** A counter with a cache: the same results occur in the requests of several modes and providers. */
export function countOnce(count: TokenCounter): TokenCounter {
  const counted = new Map<string, number>();
  return (text) => {
    let tokens = counted.get(text);
    if (tokens === undefined) counted.set(text, (tokens = count(text)));
    return tokens;
  };
}
