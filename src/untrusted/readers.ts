import { isDeepStrictEqual } from "node:util";
import { checkJson } from "../values/json/check-json.ts";
import { JsonScanner, newCount, OPEN_LIST } from "../values/json/json-scanner.ts";
import type { JsonLook } from "../values/json/json-text.ts";
import { PLAIN_DEPTH } from "../values/json/plain-data.ts";

/*
 * What reads untrusted texts: at once if they are short, and on the thread if they are long. Each takes time that is linear
 * in the text.
 */

/** What parsing costs beside the length of the text. */
export interface JsonBounds {
  /** Levels of nesting. */
  readonly depth: number;
  /** Values in all, the text itself included. */
  readonly values: number;
}

/** Characters that are measured between two looks at the bounds. */
const STEP_LENGTH = 64 * 1024;

/** The first bound that a text exceeds, which may be JSON. */
function exceeded(text: string, bounds: JsonBounds): keyof JsonBounds | undefined {
  const scanner = new JsonScanner(text);
  const count = newCount();
  while (scanner.at < text.length) {
    scanner.pass(count, scanner.at + STEP_LENGTH);
    if (count.depth > bounds.depth) return "depth";
    if (count.values > bounds.values) return "values";
  }
  return undefined;
}

/** What a text of plain JSON has; undefined for any other text. */
function look(text: string): JsonLook | undefined {
  if (checkJson(text) !== undefined) return undefined;
  const count = newCount();
  new JsonScanner(text).pass(count, text.length, 1);
  const first = text.charCodeAt(text.search(/[^ \t\n\r]/));
  const isEmpty = count.values === 2 && /^\s*\[\s*\]/.test(text);
  const type = first === OPEN_LIST ? `array of ${isEmpty ? 0 : count.rows + 1}` : TYPES.get(first);
  return { values: count.values, type: type ?? "number" };
}

/** Kinds of values by the character that begins them; any other is a number's. */
const TYPES: ReadonlyMap<number, string> = new Map(
  Object.entries({ "{": "object", '"': "string", t: "boolean", f: "boolean", n: "null" }).map(([character, type]) => [
    character.charCodeAt(0),
    type,
  ]),
);

/** Values in each of two texts that are compared. */
const COMPARED: JsonBounds = { depth: PLAIN_DEPTH, values: 65_536 };

/** Whether the texts of each pair are JSON of the same value. */
function areEqual(pairs: readonly (readonly [string, string])[]): boolean {
  return pairs.every((pair) => {
    if (pair.some((text) => exceeded(text, COMPARED) !== undefined)) return false;
    try {
      const [one, other] = pair.map((text) => JSON.parse(text) as unknown);
      return isDeepStrictEqual(one, other);
    } catch {
      return false;
    }
  });
}

export const READERS = { exceeded, fault: checkJson, look, areEqual };

export type Readers = typeof READERS;
