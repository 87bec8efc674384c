import { sumOf } from "../../base/index.ts";
import type { Tool } from "../tool.ts";
import { actionFit, actionsAskedFor } from "./actions.ts";
import { type ToolWords, toolWords } from "./tool-words.ts";
import { wordsOf } from "./words.ts";
import { SYNONYM_GROUPS } from "./synonym-groups.ts";

/*
 * Okapi BM25 over the weighted words of each tool, with factors: how much of the query was met, how much of the
 * tool's name the query has named, and whether the tool does what the query asks for, at the service that it names.
 * Chosen on the queries of test/tools/search that are for this. Halving or doubling a constant moves recall by two
 * queries in a hundred.
 */
const SATURATION = 2;
const LENGTH_SHARE = 0.05;
const NAME_FACTOR = 2.5;
const COVERAGE_POWER = 1.5;
/** Weight of each single word of an expression of two words, like "pull request". */
const PART_WEIGHT = 0.9;
/** Weight of a word of the index that begins with a word of the query, or is its beginning. */
const PREFIX_WEIGHT = 0.6;
const PREFIX_LENGTH = 4;
/** Words of the index that may stand for a word that it does not have. */
const LIKE_WORDS = 1000;
/** Words of the index that are looked at before the thread is released. */
const WORDS_PER_SLICE = 20_000;
/** Tools whose words are read before the thread is released. */
const TOOLS_PER_SLICE = 8;

/** The tools that have a word: place and weight in turn. */
type Postings = number[];

/** A word or expression of the query and its synonyms, each with its weight. A tool needs one of them. */
interface Wanted {
  readonly words: ReadonlyMap<string, number>;
  /** How much it counts. */
  readonly rarity: number;
}

/** Maximum of words of a query that count. */
const MAX_WORDS = 32;
/** Up to so many tools, all that have a word of a query are found: a caller knows so many, or can look at them. */
const FEW_TOOLS = 20;
/** A factor for the tools of other services, where a query names one. */
const OTHER_SERVICE = 0.4;
/** Among more: the least score, as a part of the best one's. What is further away is no answer. */
const LEAST_SCORE = 0.25;
/** Among more: the least part of a query that a tool has. A word that no tool has counts as a rare one. */
const LEAST_COVERAGE = 0.15;

interface Indexed extends Omit<ToolWords, "weights"> {
  readonly tool: Tool;
}

/** Finds its tools by words. Neither the rarity of a word nor the time of a search depends on tools that it lacks. */
export class ToolIndex {
  readonly #postings = new Map<string, Postings>();
  readonly #tools: Indexed[] = [];
  /** How rare each word of a name is. */
  readonly #rarities = new Map<string, number>();
  #meanLength = 1;

  private constructor() {}

  /** Yields between slices, so that the thread can be released. */
  static *of(tools: readonly Tool[]): Generator<undefined, ToolIndex> {
    const index = new ToolIndex();
    for (const [place, tool] of tools.entries()) {
      index.#add(place, tool);
      if (place % TOOLS_PER_SLICE === TOOLS_PER_SLICE - 1) yield;
    }
    for (const word of new Set(index.#tools.flatMap(({ name }) => name)))
      index.#rarities.set(word, index.#rarity(word));
    index.#meanLength = Math.max(1, sumOf(index.#tools, ({ length }) => length) / tools.length);
    return index;
  }

  #add(place: number, tool: Tool): void {
    const { weights, ...words } = toolWords(tool);
    this.#tools.push({ ...words, tool });
    for (const [word, weight] of weights) {
      const postings = this.#postings.get(word);
      if (postings) postings.push(place, weight);
      else this.#postings.set(word, [place, weight]);
    }
  }

  /** The tools that have a word of the query or a synonym of it, the best first. Yields between slices. */
  *search(query: string, limit: number): Generator<undefined, readonly Tool[]> {
    const asking = wordsOf(query).slice(0, MAX_WORDS);
    const wanted = yield* this.#wanted(asking);
    const isNamed = ({ service }: Indexed) => service.length > 0 && service.every((word) => asking.includes(word));
    const otherService = this.#tools.some(isNamed) ? OTHER_SERVICE : 1;
    const asked = actionsAskedFor(query);
    const total = sumOf(wanted, ({ rarity }) => rarity);
    const absent = wanted.filter(({ words }) => words.size === 0).length;
    const hasMany = this.#tools.length > FEW_TOOLS;
    const least = hasMany ? LEAST_COVERAGE * (total + absent * this.#rarity("")) : 0;
    const scores = new Float64Array(this.#tools.length);
    const met = new Float64Array(this.#tools.length);
    for (const one of wanted) {
      const { rarity } = one;
      for (const [place, score] of this.#scoresOf(one).entries()) {
        scores[place]! += rarity * score;
        met[place]! += rarity * Math.min(1, score);
      }
      yield;
    }
    const shares = sharesOf(wanted);
    const found: { readonly tool: Tool; readonly score: number }[] = [];
    for (const [place, indexed] of this.#tools.entries()) {
      const [score, part] = [scores[place]!, met[place]!];
      if (score === 0 || part < least) continue;
      const { tool, action } = indexed;
      const name = 1 + NAME_FACTOR * this.#namedPart(indexed, shares);
      const fit = actionFit(asked, action, tool.effect) * (isNamed(indexed) ? 1 : otherService);
      found.push({ tool, score: score * (part / total) ** COVERAGE_POWER * name * fit });
    }
    const best = hasMany ? found.reduce((most, { score }) => Math.max(most, score), 0) : 0;
    return found
      .filter(({ score }) => score >= LEAST_SCORE * best)
      .toSorted((a, b) => b.score - a.score)
      .slice(0, limit)
      .map(({ tool }) => tool);
  }

  /** For each tool, the best score of the words that are wanted. */
  #scoresOf({ words }: Wanted): Float64Array {
    const best = new Float64Array(this.#tools.length);
    for (const [word, share] of words) {
      const postings = this.#postings.get(word)!;
      for (let at = 0; at < postings.length; at += 2) {
        const [place, weight] = [postings[at]!, postings[at + 1]!];
        const length = this.#tools[place]!.length / this.#meanLength;
        const saturation = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length);
        const score = (share * weight * (SATURATION + 1)) / (weight + saturation);
        best[place] = Math.max(score, best[place]!);
      }
    }
    return best;
  }

  /** Which part of a tool's name the query has named, from 0 to 1. */
  #namedPart({ name }: Indexed, shares: ReadonlyMap<string, number>): number {
    let named = 0;
    let whole = 0;
    for (const word of name) {
      const rarity = this.#rarities.get(word)!;
      whole += rarity;
      named += rarity * (shares.get(word) ?? 0);
    }
    return whole === 0 ? 0 : named / whole;
  }

  #count(word: string): number {
    return (this.#postings.get(word)?.length ?? 0) / 2;
  }

  #rarity(word: string): number {
    const count = this.#count(word);
    return Math.log(1 + (this.#tools.length - count + 0.5) / (count + 0.5));
  }

  *#wanted(query: readonly string[]): Generator<undefined, readonly Wanted[]> {
    const wanted: Wanted[] = [];
    const pairWords = new Set<string>();
    for (const [place, first] of query.entries()) {
      const next = query[place + 1];
      if (!next) continue;
      const expression = synonymsOf(`${first} ${next}`);
      if (expression.size === 0) continue;
      const words = new Map([...expression, [first, PART_WEIGHT], [next, PART_WEIGHT]] as const);
      wanted.push(this.#wantedOf(words));
      pairWords.add(first).add(next);
    }
    const single = [...new Set(query)].filter((word) => !pairWords.has(word));
    const unknown = single.filter((word) => this.#count(word) === 0 && synonymsOf(word).size === 0);
    const alike = yield* this.#likeWords(unknown);
    for (const word of single) {
      const like = (alike.get(word) ?? []).map((term) => [term, PREFIX_WEIGHT] as const);
      wanted.push(this.#wantedOf(new Map([...synonymsOf(word), ...like, [word, 1]])));
      yield;
    }
    return wanted;
  }

  /** The rarity of a group is the mean of two rarities: of its word, and of its most frequent word. */
  #wantedOf(words: ReadonlyMap<string, number>): Wanted {
    const matches = [...words].filter(([word]) => this.#count(word) > 0);
    const least = Math.min(...matches.map(([word]) => this.#rarity(word)));
    const own = matches.find(([, share]) => share === 1);
    const rarity = matches.length === 0 ? 0 : own ? (least + this.#rarity(own[0])) / 2 : least;
    return { words: new Map(matches), rarity };
  }

  /** Words of the index for words that it does not have: `repos` for `reposit`. */
  *#likeWords(words: readonly string[]): Generator<undefined, ReadonlyMap<string, readonly string[]>> {
    const alike = new Map<string, string[]>();
    const byBeginning = Map.groupBy(
      words.filter((word) => word.length >= PREFIX_LENGTH),
      (word) => word.slice(0, PREFIX_LENGTH),
    );
    if (byBeginning.size === 0) return alike;
    let seen = 0;
    for (const term of this.#postings.keys()) {
      seen += 1;
      if (seen % WORDS_PER_SLICE === 0) yield;
      if (term.length < PREFIX_LENGTH) continue;
      for (const word of byBeginning.get(term.slice(0, PREFIX_LENGTH)) ?? []) {
        if (!term.startsWith(word) && !word.startsWith(term)) continue;
        const others = alike.get(word) ?? [];
        if (others.length < LIKE_WORDS) others.push(term);
        alike.set(word, others);
      }
    }
    return alike;
  }
}

function sharesOf(wanted: readonly Wanted[]): ReadonlyMap<string, number> {
  const shares = new Map<string, number>();
  for (const { words } of wanted)
    for (const [word, share] of words) shares.set(word, Math.max(share, shares.get(word) ?? 0));
  return shares;
}

/** Weight of a synonym relative to the word itself; weight of each word of a synonym that has several. */
const SYNONYM_WEIGHT = 0.65;
const SYNONYM_PART_WEIGHT = 0.35;

/** By a word, or two words with a space between, the synonyms with their weights. All are stemmed. */
type Thesaurus = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Read by the first search. */
let thesaurus: Thesaurus | undefined;

function readGroups(): Thesaurus {
  const synonyms = new Map<string, Map<string, number>>();
  const read = (text: string) => text.split(" ").map(wordsOf);
  for (const line of SYNONYM_GROUPS.trim().split("\n")) {
    const [before = "", after = before] = line.split(" > ");
    const others = read(after);
    for (const words of read(before)) {
      const expression = words.join(" ");
      const weights = synonyms.get(expression) ?? new Map<string, number>();
      synonyms.set(expression, weights);
      for (const other of others) {
        const weight = other.length === 1 ? SYNONYM_WEIGHT : SYNONYM_PART_WEIGHT;
        for (const word of other)
          if (!words.includes(word)) weights.set(word, Math.max(weight, weights.get(word) ?? 0));
      }
    }
  }
  return synonyms;
}

const NONE: ReadonlyMap<string, number> = new Map();

/** The synonyms of a word, or of two words with a space between, each with its weight. All are stemmed. */
function synonymsOf(expression: string): ReadonlyMap<string, number> {
  thesaurus ??= readGroups();
  return thesaurus.get(expression) ?? NONE;
}
