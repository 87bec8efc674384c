/** How many times as much as is shown of a text is read of it. */
const READ = 8;

/** A text on one line, shortened at the end of a word, without characters that could end a comment or control a terminal. */
export function commentLine(text: string, length: number): string {
  // Blanks become one: a text that has more of them than this is shown shorter than it might be.
  const head = text.slice(0, READ * length);
  const line = head
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029\s]+/gu, " ")
    .replaceAll("*/", "* /")
    .trim();
  if (line.length <= length && text.slice(head.length).trim() === "") return line;
  // The last word goes as a whole, if it is short.
  return `${line.slice(0, Math.max(0, length - 1)).replace(/[\s,;:.]{1,9}\S{0,12}$/, "")}…`;
}
