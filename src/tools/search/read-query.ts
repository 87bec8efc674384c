import { wordsOf } from "./words.ts";

/** Maximum of words of a query that count. */
const MAX_WORDS = 32;

export interface Query {
  /** Stemmed, without words that say nothing, in their order. */
  readonly words: readonly string[];
  /** What the query asks for by its first word: to be told something, or to change something. */
  readonly asksTo: "read" | "change" | undefined;
}

const READS = new Set(
  "who what which when where how whose is are does did was were list show get find see view read search look lookup fetch retrieve query count check compare download browse display".split(
    " ",
  ),
);
const CHANGES = new Set(
  "add create make new open post delete remove drop clear kick ban block send put give grant invite close resolve start launch trigger run rerun publish release mark protect lock cancel stop pause end pay refund charge log move attach upload tell notify remind email text pin set sign register scale resize store save turn enable disable share rename change update edit modify replace assign merge fork buy order book schedule restore undo approve reject accept decline empty archive move copy connect link subscribe unsubscribe follow unfollow".split(
    " ",
  ),
);

export function readQuery(text: string): Query {
  const first = /\p{L}{1,32}/u.exec(text.slice(0, 200))?.[0].toLowerCase() ?? "";
  const asksTo = READS.has(first) ? "read" : CHANGES.has(first) ? "change" : undefined;
  return { words: wordsOf(text).slice(0, MAX_WORDS), asksTo };
}
