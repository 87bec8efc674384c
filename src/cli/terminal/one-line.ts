import { cleanText, INSET } from "../../base/index.ts";

/**
 * Foreign text (names that a model called, messages, details of an engine) as part of one line on a terminal: without
 * control characters, and without line breaks, so that it cannot imitate a line of the command line.
 */
export function oneLine(text: string): string {
  return cleanText(text).replaceAll(/[\n\t]/g, " ");
}

/** The beginning of a foreign text in one line, of at most `length` UTF-16 code units and `…` for the rest. */
export function shortLine(text: string, length: number): string {
  const line = oneLine(text.slice(0, length));
  return text.length > length ? `${line}…` : line;
}

/** Fewest cells of a line: a terminal that is narrower breaks lines itself. */
const LEAST = 20;

/**
 * Foreign text as indented lines that are narrower than the terminal. It would break a longer line, and the rest would
 * begin at the left edge, where it could imitate a line of the command line.
 */
export function insetLines(text: string, columns: number): readonly string[] {
  const room = Math.max(LEAST, columns - INSET.length - 1);
  return cleanText(text)
    .split("\n")
    .flatMap((line) => {
      const parts: string[] = [];
      let [part, cells] = ["", 0];
      for (const character of line) {
        part += character;
        cells += cellsOf(character);
        // What is left behind an early space may be too long still.
        while (cells > room) {
          const end = part.lastIndexOf(" ", part.length - 1 - character.length) + 1 || part.length - character.length;
          parts.push(INSET + part.slice(0, end).trimEnd());
          part = part.slice(end);
          cells = cellsOf(part);
        }
      }
      return [...parts, INSET + part];
    });
}

/** How much deeper than foreign text the rest of a line is. */
const FOLD = "    ";

/**
 * Lines of which a terminal breaks none. It would put the rest of a longer line at its left edge, where foreign text in it could
 * imitate a line of the command line: the rest is indented deeper than any of its lines.
 */
export function foldLines(lines: readonly string[], columns: number): readonly string[] {
  return lines.flatMap((line) =>
    cellsOf(line) < columns
      ? [line]
      : insetLines(line, columns - FOLD.length).map((part, index) =>
          index === 0 ? part.slice(INSET.length) : FOLD + part,
        ),
  );
}

/** Cells that a text takes at most: terminals disagree about characters that are not Latin. */
function cellsOf(text: string): number {
  let cells = 0;
  for (const character of text) cells += character === "\t" ? 8 : character < "\u0300" ? 1 : 2;
  return cells;
}
