import type { RewrittenPlaces } from "../../../guest/source-map.ts";
import { LineStarts } from "../../../guest/source-lines.ts";
import { bodyOf, OPENING } from "../function-body.ts";

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** What ends a line for the stripper: fewer characters than for V8 and acorn. */
export const STRIPPER_LINE_ENDS = /\r\n|[\n\r]/g;

/** The places that a source map gives, ready to be searched. The texts of the map are programs wrapped in a function. */
export function readMappings(map: string, original: string, rewritten: string): RewrittenPlaces {
  const { mappings } = JSON.parse(map) as { readonly mappings: string };
  const code = bodyOf(original);
  const [from, fromIn] = [new LineStarts(code), new LineStarts(original, STRIPPER_LINE_ENDS)];
  const [to, toIn] = [new LineStarts(rewritten), new LineStarts(rewritten, STRIPPER_LINE_ENDS)];
  const places: number[] = [];
  // Each segment has the differences to the segment before it.
  let originalLine = 0;
  let originalColumn = 0;
  for (const [line, segments] of mappings.split(";").entries()) {
    let column = 0;
    for (const segment of segments.split(",")) {
      const [columns, , originalLines, originalColumns] = readNumbers(segment);
      column += columns ?? 0;
      if (originalLines === undefined || originalColumns === undefined) continue;
      originalLine += originalLines;
      originalColumn += originalColumns;
      const offset = fromIn.offsetOf({ line: originalLine + 1, column: originalColumn + 1 }) - OPENING.length;
      const place = from.placeAt(Math.min(offset, code.length));
      const rewrittenPlace = to.placeAt(toIn.offsetOf({ line: line + 1, column: column + 1 }));
      // The function's opening has a line of its own.
      places.push(rewrittenPlace.line - 1, rewrittenPlace.column, place.line, place.column);
    }
  }
  return Int32Array.from(places);
}

/** The numbers of a segment. Each number is written in digits of five bits, the lowest first; a sixth bit is set if another digit follows. */
function readNumbers(segment: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const character of segment) {
    const digit = DIGITS.indexOf(character);
    value += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    value = 0;
    shift = 0;
  }
  return numbers;
}
