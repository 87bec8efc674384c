import type { Position } from "../source-map.ts";

/*
 * A program is the body of an async function, and is parsed as one: with what makes it one put round it, on lines of
 * its own.
 */
const OPENING = "async function program() {\n";
const CLOSING = "\n}";

/** A program's code as the text that is parsed. */
export function asFunction(code: string): string {
  return `${OPENING}${code}${CLOSING}`;
}

/** The code within such a text. */
export function bodyOf(text: string): string {
  return text.slice(OPENING.length, -CLOSING.length);
}

/** The place in the code of an offset in such a text. */
export function placeOf(text: string, offset: number): Position {
  const before = text.slice(OPENING.length, offset).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** The place in the code of a place that a parser tells of such a text: lines from 1, columns from 0. */
export function placeInBody(code: string, { line, column }: Position): Position {
  const lines = code.split("\n");
  // What is missing at the end is missing at the end of the code, not behind what was put round it.
  return line - 1 > lines.length
    ? { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 }
    : { line: line - 1, column: column + 1 };
}
