import { cleanText } from "../../output/clean-text.ts";

/**
 * Foreign text as indented lines that are no wider than the terminal. The terminal would wrap a longer line, and the rest
 * would begin at the left edge, where it could imitate a line of the command line.
 */
export function foldText(text: string, columns: number, indent = "  "): readonly string[] {
  const room = Math.max(columns - indent.length - 1, 20);
  return cleanText(text)
    .split("\n")
    .flatMap((line) => foldLine(line, room).map((part) => indent + part));
}

function foldLine(line: string, room: number): readonly string[] {
  const parts: string[] = [];
  let part = "";
  let width = 0;
  for (const character of line) {
    const own = cellsOf(character);
    if (width + own > room) {
      parts.push(part);
      part = "";
      width = 0;
    }
    part += character;
    width += own;
  }
  return [...parts, part];
}

/** Cells of a terminal that a character takes at most. Terminals disagree about many characters that are not Latin. */
function cellsOf(character: string): number {
  if (character === "\t") return 8;
  return (character.codePointAt(0) ?? 0) < 0x300 ? 1 : 2;
}
