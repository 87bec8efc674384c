/** A position in a text. Line and column count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** What ends a line in JavaScript, for V8 and for acorn. */
const LINE_ENDS = /\r\n|[\n\r\u2028\u2029]/g;
/** What ends a line for the stripper of types, and in its source maps. */
export const MAP_LINE_ENDS = /\r\n|[\n\r]/g;

export function sourceLines(text: string): readonly string[] {
  return text.split(LINE_ENDS);
}

/** The line and column of an offset in a text. */
export function placeAt(text: string, offset: number): Position {
  return lineStarts(text).placeAt(offset);
}

/** The offset of a line and column in a text; for a place after the text its length. */
export function offsetOf(text: string, position: Position): number {
  return lineStarts(text).offsetOf(position);
}

/**
 * Where the lines of a text start. An offset between `\r` and `\n` is in the line that they end. `ends` matches what ends a
 * line; by default as JavaScript does.
 */
export function lineStarts(text: string, ends = LINE_ENDS) {
  const starts = [0, ...text.matchAll(ends).map(({ index, 0: end }) => index + end.length)];
  const { length } = text;
  return {
    placeAt(offset: number): Position {
      let low = 1;
      let high = starts.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((starts[middle] ?? 0) <= offset) low = middle + 1;
        else high = middle;
      }
      return { line: low, column: offset - (starts[low - 1] ?? 0) + 1 };
    },

    offsetOf: ({ line, column }: Position): number => Math.min(length, (starts[line - 1] ?? length) + column - 1),
  };
}
