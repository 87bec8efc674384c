import { cellsOf } from "./one-line.ts";

/** Fewest cells that a line is folded to: a terminal that is narrower breaks lines itself. */
const LEAST = 20;
/** After these, a line may be broken that has no space: JSON has none. */
const PUNCTUATION = /[,;)\]}]/;
/** The words of a command with their quotes, as a shell takes them apart. */
const WORDS = /(?:'[^']*'|\\.|[^' ]|')+/g;
/** Indent of what follows a line that was folded. */
const HANGING = "  ";

/** Lines as lines of a terminal with so many columns, broken between words. Of any width if it is undefined. */
export function foldLines(lines: readonly string[], columns: number | undefined): readonly string[] {
  if (columns === undefined) return lines;
  return lines.flatMap((line) => line.split("\n")).flatMap((line) => foldOne(line, columns));
}

/** The words of a line that fit into one line of such a terminal, with `…` for the rest. */
export function firstLine(line: string, columns: number | undefined): string {
  if (columns === undefined || cellsOfText(line) < columns) return line;
  const [first = ""] = foldLine(line, Math.max(columns - " …".length - 1, 1));
  return `${first.trimEnd()} …`;
}

function foldOne(line: string, columns: number): readonly string[] {
  if (cellsOfText(line) < columns) return [line];
  const indent = " ".repeat(line.length - line.trimStart().length);
  const text = line.slice(indent.length);
  if (text.startsWith("portcullis ")) return foldCommand(text, columns, indent);
  const room = Math.max(columns - indent.length - HANGING.length - 1, LEAST);
  return foldLine(text, room).map((part, index) => `${indent}${index === 0 ? "" : HANGING}${part.trimEnd()}`);
}

/** The parts of a line, each of at most so many cells: broken behind a space, or else punctuation, or else anywhere. */
export function foldLine(line: string, room: number): readonly string[] {
  const parts: string[] = [];
  let part: string[] = [];
  let width = 0;
  for (const character of line) {
    const own = cellsOf(character);
    while (width + own > room && part.length > 0) {
      const at = breakOf(part);
      parts.push(part.slice(0, at).join(""));
      part = part.slice(at);
      width = cellsOfText(part);
    }
    part.push(character);
    width += own;
  }
  return [...parts, part.join("")];
}

/** Where a part ends of which the next character does not fit. */
function breakOf(part: readonly string[]): number {
  const word = part.findIndex((character) => character !== " ");
  const space = part.lastIndexOf(" ") + 1;
  if (space > Math.max(0, word)) return space;
  return part.findLastIndex((character) => PUNCTUATION.test(character)) + 1 || part.length;
}

function cellsOfText(text: Iterable<string>): number {
  let cells = 0;
  for (const character of text) cells += cellsOf(character);
  return cells;
}

/** A command in lines that a shell reads as one: it is there to be copied. An argument is never broken. */
function foldCommand(command: string, columns: number, indent: string): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const [word] of command.matchAll(WORDS)) {
    const longer = line === "" ? indent + word : `${line} ${word}`;
    const fits = cellsOfText(longer) + " \\".length <= columns;
    if (line !== "" && !fits) lines.push(`${line} \\`);
    line = line === "" || fits ? longer : indent + word;
  }
  return [...lines, line];
}
