import { cleanText } from "../../output/clean-text.ts";

/**
 * Foreign text (names that a model called, messages, details of an engine) as part of one line on a terminal: without
 * control characters, and without line breaks, so that it cannot imitate a line of the command line.
 */
export function oneLine(text: string): string {
  return cleanText(text).replaceAll(/[\n\t]/g, " ");
}

/** A foreign text in one line of at most so many cells of a terminal, with `…` in place of what does not fit. */
export function fitLine(text: string, cells: number): string {
  const line = oneLine(text.slice(0, LINE_LENGTH));
  let width = 0;
  let fits = 0;
  for (const character of line) {
    width += ownCells(character);
    if (width > cells) return `${line.slice(0, fits)}…`;
    if (width < cells) fits += character.length;
  }
  return line;
}

/** Longest text that is looked at for one line, in UTF-16 code units. */
const LINE_LENGTH = 4096;

/** Cells of a line that this package draws. */
export function widthOf(line: string): number {
  let cells = 0;
  for (const character of line) cells += ownCells(character);
  return cells;
}

/** Cells of a character. Lines, blocks and punctuation take one, as this package draws them. */
function ownCells(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  return code >= 0x2010 && code < 0x2600 ? 1 : cellsOf(character);
}

/** Cells of a terminal that a character takes at most. Terminals disagree about many characters that are not Latin. */
export function cellsOf(character: string): number {
  if (character === "\t") return 8;
  return (character.codePointAt(0) ?? 0) < 0x300 ? 1 : 2;
}

/** The beginning of a foreign text in one line, of at most `length` UTF-16 code units and `…` for the rest. */
export function shortLine(text: string, length: number): string {
  const line = oneLine(text.slice(0, length));
  return text.length > length ? `${line}…` : line;
}
