/** Maximum characters of a text that is read for words. */
const TEXT_LENGTH = 4000;
/** Maximum characters of a word; of a longer word only the beginning counts. */
const WORD_LENGTH = 32;

/** Words that say nothing about which tool is meant. */
const STOP_WORDS = new Set(
  "a about after all also am an and any are as at be been before being both but by can could did do does doing done each else for from had has have having he her here him his how i if in into is it its itself just let may me might more most must my no nor not now of off on once one only or other our ours out over own per please same shall she should so some such than that the their them then there these they this those through to too two under until up us via very want was we were what when where which while who whom whose why will with would you your yours api endpoint e g etc eg ie".split(
    " ",
  ),
);

/** The words of a text in lower case, stemmed: list, repo, v2 of `listForRepo_v2`. Takes time linear in the text. */
export function wordsOf(text: string): string[] {
  return (text.slice(0, TEXT_LENGTH).match(PARTS) ?? [])
    .map((part) => part.toLowerCase().slice(0, WORD_LENGTH))
    .filter((word) => !STOP_WORDS.has(word) && (word.length > 1 || word >= "\u0080"))
    .map(stem);
}

/** Runs of capitals (`URL` of `URLName` and of `URLs`), words, numbers, and text in scripts without case. */
const PARTS = /\p{Lu}+s?(?!\p{Ll})|\p{Lu}?\p{Ll}+\d*|\p{Lo}+|\d+/gu;

/**
 * A word without its ending, so that `issues`, `listed` and `listing` meet `issue` and `list`. For English only.
 */
export function stem(word: string): string {
  if (word.length < 4 || /[^a-z]/.test(word)) return word;
  return withoutEnding(singular(word));
}

function singular(word: string): string {
  if (word.endsWith("ies") && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(?:ss|sh|ch|x|z)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith("s") && !/(?:ss|us|is)$/.test(word) ? word.slice(0, -1) : word;
}

function withoutEnding(word: string): string {
  for (const ending of ["ing", "ed", "er", "or"]) {
    const rest = word.slice(0, -ending.length);
    if (!word.endsWith(ending) || rest.length < 3 || !/[aeiouy]/.test(rest)) continue;
    if ((ending === "er" || ending === "or") && rest.length < 5) continue;
    const [last, before] = [rest.at(-1), rest.at(-2)];
    const single = last === before && !/[lsz]/.test(last ?? "") ? rest.slice(0, -1) : rest;
    return withoutE(single);
  }
  return withoutE(word);
}

function withoutE(word: string): string {
  if (word.length < 5) return word.endsWith("e") ? word.slice(0, -1) : word;
  return word.endsWith("e") ? word.slice(0, -1) : word.endsWith("y") ? `${word.slice(0, -1)}i` : word;
}
