/** A text on one line, shortened at the end of a word, without characters that could end a comment or control a terminal. */
export function oneLine(text: string, length: number): string {
  const line = text
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029\s]+/gu, " ")
    .replaceAll("*/", "* /")
    .trim();
  if (line.length <= length) return line;
  return `${line.slice(0, endOfWord(line, Math.max(0, length - 1)))}…`;
}

/** Maximum characters of a partial word that is left out. */
const WORD_LENGTH = 12;
const BETWEEN_WORDS = /[\s,;:.]/;

/** End of the last whole word before a place in a line, if the partial word after it is short; else the place itself. */
function endOfWord(line: string, place: number): number {
  const first = Math.max(1, place - WORD_LENGTH, line.lastIndexOf(" ", place - 1) + 1);
  for (let start = first; start <= place; start += 1) {
    if (!BETWEEN_WORDS.test(line.charAt(start - 1))) continue;
    let end = start - 1;
    while (end > 0 && BETWEEN_WORDS.test(line.charAt(end - 1))) end -= 1;
    return end;
  }
  return place;
}
