import { isDeepStrictEqual } from "node:util";
import { count } from "../../output/count-text.ts";
import { fieldOf, isFields } from "../../values/fields.ts";

/** Places that a text names, and UTF-16 units of each value in it. */
const PLACES = 3;
const VALUE_LENGTH = 80;

/** Where a JSON value differs from the expected one, by path, in one line: `at [0].flights: expected 50, got 51`. */
export function differenceText(expected: unknown, got: unknown): string {
  const places: string[] = [];
  collect("", expected, got, places);
  return places.length > PLACES ? [...places.slice(0, PLACES), "and elsewhere"].join("; ") : places.join("; ");
}

function collect(path: string, expected: unknown, got: unknown, places: string[]): void {
  if (places.length > PLACES || isDeepStrictEqual(expected, got)) return;
  if (Array.isArray(expected) && Array.isArray(got)) {
    const common = Math.min(expected.length, got.length);
    for (let index = 0; index < common; index += 1) collect(`${path}[${index}]`, expected[index], got[index], places);
    if (expected.length !== got.length)
      places.push(`${at(path)}expected ${count(expected.length)} entries, got ${count(got.length)}`);
  } else if (isFields(expected) && isFields(got)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(got)]))
      collect(pathOf(path, key), fieldOf(expected, key), fieldOf(got, key), places);
  } else places.push(`${at(path)}expected ${shown(expected)}, got ${shown(got)}`);
}

function at(path: string): string {
  return path === "" ? "" : `at ${path}: `;
}

function pathOf(path: string, key: string): string {
  if (/^[A-Za-z_]\w*$/.test(key) && key.length <= VALUE_LENGTH) return path === "" ? key : `${path}.${key}`;
  return `${path}[${shown(key)}]`;
}

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = jsonText(value);
  return text.length > VALUE_LENGTH ? `${text.slice(0, VALUE_LENGTH)}…` : text;
}

function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "a value that is nested too deeply to be shown";
  }
}
