import { parsedJson } from "./json-text.ts";
import { quickKey } from "./quick-key.ts";
import {
  COMMA,
  END,
  isClosing,
  isOpening,
  JsonScanner,
  measure,
  type Measurements,
  OPEN_RECORD,
  QUOTE,
} from "./json-scanner.ts";

/** What a JSON text says and its value does not. */
export interface LostData {
  /** Keys from the root to it. */
  readonly path: readonly (string | number)[];
  /** A number as it is written, or undefined for a name that is given twice. */
  readonly written: string | undefined;
}

/** Places in a value: keys from the root to each. */
export type Paths = readonly (readonly string[])[];

/** A number that a double may not keep has so many digits and a point, or an exponent. */
const LONG = 16;
const EXPONENT = /\d[eE]/;
/** Texts that may have such a number. Their strings may look like one. */
const MAY_LOSE = /[\d.]{16}|\d[eE]/;
/** Digits with which each double can be written and read back. */
const DOUBLE_DIGITS = 17;

/**
 * The first number of a JSON text that a double does not keep, or the first name that its object has already: whoever reads the
 * text reads something else than whoever is given the value. Undefined if there is none. `value` is what the text was parsed to;
 * undefined if one of its numbers is too large.
 */
export function lostData(
  text: string,
  value: unknown,
  { values }: Pick<Measurements, "values"> = measure(text),
): LostData | undefined {
  if (value !== undefined) {
    if (!MAY_LOSE.test(text) && countValues(value) === values) return undefined;
    // What JavaScript has written it reads as it was. This takes a tenth of the time of a look at each number.
    if (JSON.stringify(value) === text) return undefined;
  }
  return lossesIn(text).next().value;
}

/** Counts the values as `measure` does in a text. A name that is given twice is counted once, with its last value. */
function countValues(root: unknown): number {
  let values = 1;
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    const children: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    values += Math.max(1, children.length);
    for (const child of children) if (typeof child === "object" && child !== null) open.push(child);
  }
  return values;
}

/** The first name that an object of a JSON text has already, or the first number within these parts that a double does not keep. */
export function lostIn(text: string, parts: Paths): LostData | undefined {
  return lossesIn(text).find(
    ({ path, written }) => written === undefined || parts.some((part) => part.every((key, at) => key === path[at])),
  );
}

interface Level {
  /** The names so far; undefined for a list. */
  readonly names: Set<unknown> | undefined;
  key: string | number;
  /** Whether the next text is a name. */
  expectsName: boolean;
}

/** Finds what is lost of a text that is JSON, in one pass. Of any other text it may find something. */
function* lossesIn(text: string): Generator<LostData, undefined> {
  const scanner = new JsonScanner(text);
  const open: Level[] = [];
  const lost = (written: string | undefined): LostData => ({ path: open.map(({ key }) => key), written });
  for (;;) {
    const mark = scanner.next();
    const word = scanner.between;
    if ((word.length >= LONG || EXPONENT.test(word)) && !keepsNumber(word.trim())) yield lost(word.trim());
    if (mark === END) return undefined;
    const level = open.at(-1);
    if (isOpening(mark)) {
      const isRecord = mark === OPEN_RECORD;
      open.push({ names: isRecord ? new Set() : undefined, key: 0, expectsName: isRecord });
    } else if (isClosing(mark)) open.pop();
    else if (mark === COMMA && level) {
      if (level.names) level.expectsName = true;
      else level.key = Number(level.key) + 1;
    } else if (mark === QUOTE && level?.names && level.expectsName) {
      const name = String(parsedJson(scanner.written));
      const key = quickKey(name);
      level.key = name;
      level.expectsName = false;
      if (level.names.has(key)) yield lost(undefined);
      level.names.add(key);
    }
  }
}

/**
 * Whether a word of JSON is a number as a double has it: the shortest digits for it, its value rounded to at most 17 digits, as
 * other languages write it, or the whole of a whole number. A word that is no number is kept.
 */
function keepsNumber(word: string): boolean {
  const number = Number(word);
  if (Number.isNaN(number)) return true;
  if (!Number.isFinite(number)) return false;
  const written = decimalOf(word);
  const digits = written.indexOf("e");
  // Doubles lie nearer to each other than decimals of so few digits do, but for the very small.
  if (digits < LONG && (Math.abs(number) > 1e-290 || digits === 0)) return true;
  const shortest = String(number);
  if (shortest === word) return true;
  return (
    written === decimalOf(shortest) ||
    (digits <= DOUBLE_DIGITS && written === decimalOf(number.toPrecision(digits))) ||
    (Number.isInteger(number) && written === decimalOf(String(BigInt(number))))
  );
}

/** Digits of a number from the first to the last that is not 0, and its exponent: equal for equal numbers. */
function decimalOf(number: string): string {
  const [mantissa = "", exponent = "0"] = number.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const all = whole + fraction;
  let from = 0;
  let to = all.length;
  while (all[from] === "0") from += 1;
  while (all[to - 1] === "0") to -= 1;
  return `${all.slice(from, to)}e${Number(exponent) - fraction.length + (all.length - to)}`;
}

const NAME_LENGTH = 64;

/** The sentence about it: whoever reads such a text reads another value than whoever is given its value. */
export function lossText({ path, written }: LostData): string {
  const message =
    written === undefined
      ? "it is given twice"
      : `${shortened(written)} would become ${String(Number(written))}; pass a number with at most 15 digits, or a text if the tool takes one`;
  return path.length === 0 ? message : `${pathText(path.map(shownKey))}: ${message}`;
}

function shortened(text: string): string {
  return text.length > NAME_LENGTH ? `${text.slice(0, NAME_LENGTH)}…` : text;
}

/** A name as it is, or quoted if a reader could not see where it begins and ends. */
export function shownKey(key: string | number): string | number {
  if (typeof key === "number" || /^[\p{L}\p{N}_$-]{1,64}$/u.test(key)) return key;
  return JSON.stringify(shortened(key));
}

export function pathText(keys: readonly PropertyKey[]): string {
  return keys
    .map((key, index) =>
      typeof key === "number" || /^\d+$/.test(String(key))
        ? `[${String(key)}]`
        : `${index === 0 ? "" : "."}${String(key)}`,
    )
    .join("");
}
