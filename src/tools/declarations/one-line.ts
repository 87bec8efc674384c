/** How many times as much as is shown of a text is read of it. */
const READ = 8;

/** A text on one line, shortened at the end of a word, without characters that could end a comment or control a terminal. */
export function oneLine(text: string, length: number): string {
  // Blanks become one: a text that has more of them than this is shown shorter than it might be.
  const head = text.slice(0, READ * length);
  const line = head
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029\s]+/gu, " ")
    .replaceAll("*/", "* /")
    .trim();
  if (line.length <= length && text.slice(head.length).trim() === "") return line;
  return `${line.slice(0, endOfWord(line, Math.max(0, Math.min(line.length, length - 1))))}…`;
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
