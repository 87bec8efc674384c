/** A property of Unicode. Its test is V8's own: only the checked name of the property reaches it. */
interface Property {
  readonly test: RegExp;
  readonly isNegated: boolean;
}

/** First and last code point. */
export type Range = readonly [number, number];

/** Steps of a test of a property, beside the step of the set. */
const PROPERTY_STEPS = 4;
/** States that a property of a set counts as: V8 compiles its table when it is first asked. */
const PROPERTY_STATES = 50;
const LAST = 0x10ffff;
const ASCII = 128;

export const DIGITS: readonly Range[] = [[0x30, 0x39]];
export const WORD: readonly Range[] = [...DIGITS, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
export const SPACES: readonly Range[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
export const LINE_ENDS: readonly Range[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];

/** The characters that one place of a pattern takes. */
export class CharacterSet {
  /** First and last code points in turn, sorted. */
  readonly #bounds: readonly number[];
  readonly #properties: readonly Property[];
  readonly #isNegated: boolean;
  /** Which of the first 128 characters its ranges name, made when it is first asked: most texts have no others. */
  #ascii: Uint8Array | undefined;
  /** Steps of a look-up. */
  readonly steps: number;
  /** What it counts as in the states of its pattern, beside the members that are written. */
  readonly states: number;

  constructor(ranges: readonly Range[], properties: readonly Property[] = [], isNegated = false) {
    this.#bounds = mergedRanges(ranges).flat();
    this.#properties = properties;
    this.#isNegated = isNegated;
    this.steps = 1 + this.#properties.length * PROPERTY_STEPS;
    this.states = this.#properties.length * PROPERTY_STATES;
  }

  has(point: number): boolean {
    return this.#isNamed(point) !== this.#isNegated;
  }

  #isNamed(point: number): boolean {
    const bounds = this.#bounds;
    if (point < ASCII && this.#properties.length === 0) return (this.#ascii ??= asciiIn(bounds))[point] === 1;
    let low = 0;
    let high = bounds.length;
    // The number of bounds that are not above the point, of which the last ends a range or begins the point's.
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((bounds[middle] as number) <= point) low = middle + 1;
      else high = middle;
    }
    if (low % 2 === 1 || bounds[low - 1] === point) return true;
    if (this.#properties.length === 0) return false;
    const text = String.fromCodePoint(point);
    return this.#properties.some(({ test, isNegated }) => test.test(text) !== isNegated);
  }
}

function asciiIn(bounds: readonly number[]): Uint8Array {
  const table = new Uint8Array(ASCII);
  for (let at = 0; at < bounds.length; at += 2) table.fill(1, bounds[at], (bounds[at + 1] as number) + 1);
  return table;
}

export function complementOf(ranges: readonly Range[]): readonly Range[] {
  const gaps: Range[] = [];
  let next = 0;
  for (const [first, last] of mergedRanges(ranges)) {
    if (first > next) gaps.push([next, first - 1]);
    next = last + 1;
  }
  return next > LAST ? gaps : [...gaps, [next, LAST]];
}

function mergedRanges(ranges: readonly Range[]): readonly Range[] {
  const merged: [number, number][] = [];
  for (const [first, last] of ranges.toSorted(([one], [other]) => one - other)) {
    const before = merged.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else merged.push([first, last]);
  }
  return merged;
}

/** The properties that there are, by their names. There are some thousand names, and no others are kept. */
const properties = new Map<string, RegExp>();
const PROPERTY_NAME = /^(?:(?:General_Category|gc|Script|sc|Script_Extensions|scx)=)?\w{1,64}$/;

/** Undefined if Unicode has no property of this name. */
export function propertyNamed(name: string, isNegated: boolean): Property | undefined {
  if (!PROPERTY_NAME.test(name)) return undefined;
  try {
    const test = properties.get(name) ?? new RegExp(`\\p{${name}}`, "u");
    properties.set(name, test);
    return { test, isNegated };
  } catch {
    return undefined;
  }
}
