import type { Ranks } from "./load-encoding.ts";

/** Rank of two neighbours that together are no token. */
const NO_TOKEN = 0x7fffffff;

/**
 * Splits a text into tokens: each pair of neighbours that is a token is joined, the pair with the lowest rank first, and
 * of those the leftmost. Returns how many tokens remain. Takes time that is quadratic in the length, and no longer than
 * about a millisecond for a thousand bytes.
 */
export function countBytePairs(bytes: string, ranks: Ranks): number {
  let parts = bytes.length;
  /** Where each part begins, and the end. */
  const starts = Int32Array.from({ length: parts + 1 }, (_, index) => index);
  const rankAt = (part: number) =>
    part + 2 > parts ? NO_TOKEN : (ranks.get(bytes.slice(starts[part], starts[part + 2])) ?? NO_TOKEN);
  /** Rank of each part together with the next one. */
  const pairs = Int32Array.from({ length: parts }, (_, part) => rankAt(part));
  for (;;) {
    let lowest = NO_TOKEN;
    let first = 0;
    for (let part = 0; part < parts - 1; part += 1)
      if (pairs[part]! < lowest) {
        lowest = pairs[part]!;
        first = part;
      }
    if (lowest === NO_TOKEN) return parts;
    starts.copyWithin(first + 1, first + 2, parts + 1);
    pairs.copyWithin(first + 1, first + 2, parts);
    parts -= 1;
    pairs[first] = rankAt(first);
    if (first > 0) pairs[first - 1] = rankAt(first - 1);
  }
}
