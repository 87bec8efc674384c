import type { RewrittenPlaces } from "../../../guest/source-map.ts";
import { placeInLines } from "../function-body.ts";

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/**
 * The places that a source map gives, ready to be searched. Both texts of the map are programs wrapped in a function.
 * `code` is the rewritten text without its function.
 */
export function readMappings(map: string, code: string): RewrittenPlaces {
  const { mappings } = JSON.parse(map) as { readonly mappings: string };
  const lines = code.split("\n");
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
      const place = placeInLines(lines, { line: originalLine + 1, column: originalColumn });
      // The line with the function's opening makes lines that count from 0 in the wrapped text count from 1 in the program.
      places.push(line, column + 1, place.line, place.column);
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
