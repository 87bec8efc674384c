import type { Position } from "../../guest/source-map.ts";

/*
 * A program is the body of an async function. To be parsed it is wrapped in such a function, whose opening and closing
 * are on lines of their own.
 */
const OPENING = "async function program() {\n";
const CLOSING = "\n}";

export function asFunction(code: string): string {
  return `${OPENING}${code}${CLOSING}`;
}

export function bodyOf(text: string): string {
  return text.slice(OPENING.length, -CLOSING.length);
}

/** The position in the code of an offset in the wrapped text. */
export function placeOf(text: string, offset: number): Position {
  const before = text.slice(OPENING.length, offset).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** The position in the code of a parser's position in the wrapped text: its lines count from 1, its columns from 0. */
export function placeInBody(code: string, { line, column }: Position): Position {
  return placeInLines(code.split("\n"), { line, column });
}

export function placeInLines(lines: readonly string[], { line, column }: Position): Position {
  // A position after the code, such as the place of a missing bracket, becomes the end of the code.
  return line - 1 > lines.length
    ? { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 }
    : { line: line - 1, column: column + 1 };
}
