import type { Query } from "./queries.ts";

/** Queries of which a wanted tool was found among the first 1, 5 and 10. */
export interface Recall {
  readonly queries: number;
  readonly at1: number;
  readonly at5: number;
  readonly at10: number;
}

/** `search` gives the names that it finds, the best first, ten at least. */
export function recallOf(queries: readonly Query[], search: (words: string) => readonly string[]): Recall {
  const places = queries.map(({ words, wanted }) => search(words).findIndex((name) => wanted.includes(name)));
  const within = (count: number) => places.filter((place) => place >= 0 && place < count).length;
  return { queries: queries.length, at1: within(1), at5: within(5), at10: within(10) };
}
