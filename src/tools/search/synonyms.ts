import { SYNONYM_GROUPS } from "./synonym-groups.ts";
import { wordsOf } from "./words.ts";

/** Weight of a synonym relative to the word itself; weight of each word of a synonym that has several. */
const SYNONYM_WEIGHT = 0.65;
const PART_WEIGHT = 0.35;

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
      const known = synonyms.get(expression) ?? new Map<string, number>();
      synonyms.set(expression, known);
      for (const other of others) {
        const weight = other.length === 1 ? SYNONYM_WEIGHT : PART_WEIGHT;
        for (const word of other) if (!words.includes(word)) known.set(word, Math.max(weight, known.get(word) ?? 0));
      }
    }
  }
  return synonyms;
}

const NONE: ReadonlyMap<string, number> = new Map();

/** The synonyms of a word, or of two words with a space between, each with its weight. All are stemmed. */
export function synonymsOf(expression: string): ReadonlyMap<string, number> {
  thesaurus ??= readGroups();
  return thesaurus.get(expression) ?? NONE;
}
