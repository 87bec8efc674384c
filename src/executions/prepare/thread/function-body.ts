import { lineStarts, placeAt, type Position } from "../../guest/source-lines.ts";

/*
 * A program is the body of an async function. To be parsed it is wrapped in such a function, whose opening and closing
 * are on lines of their own.
 */
export const OPENING = "async function program() {\n";
const CLOSING = "\n}";

export function asFunction(code: string): string {
  return `${OPENING}${code}${CLOSING}`;
}

export function bodyOf(text: string): string {
  return text.slice(OPENING.length, -CLOSING.length);
}

/** The position in the code of an offset in the wrapped text. */
export function placeOf(text: string, offset: number): Position {
  const code = bodyOf(text);
  // A position after the code, such as the place of a missing bracket, becomes the end of the code.
  return placeAt(code, Math.min(offset - OPENING.length, code.length));
}

/** The position in the code of a parser's position in the wrapped text: its lines count from 1, its columns from 0. */
export function placeInBody(code: string, { line, column }: Position, lineEnds?: RegExp): Position {
  const text = asFunction(code);
  return placeOf(text, lineStarts(text, lineEnds).offsetOf({ line, column: column + 1 }));
}
