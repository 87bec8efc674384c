/**
 * Whether two texts of JSON say the same: they may differ in blanks between values, and in how characters are escaped. The
 * fields of an object have one order.
 */
export function isSameJson(one: string, other: string): boolean {
  let isWithin = false;
  for (let at = 0, there = 0; ;) {
    if (!isWithin) {
      const [before, beforeThere] = [at, there];
      while (isBlank(one.charCodeAt(at))) at += 1;
      while (isBlank(other.charCodeAt(there))) there += 1;
      // Blanks in the midst of a number or a word are not between values.
      if (at > before !== there > beforeThere && isWord(one.charCodeAt(before - 1)) && isWord(one.charCodeAt(at)))
        return false;
    }
    if (at >= one.length || there >= other.length) return at >= one.length && there >= other.length;
    const unit = unitAt(one, at);
    if (unit !== unitAt(other, there)) return false;
    if (unit === QUOTE) isWithin = !isWithin;
    at += lengthAt(one, at);
    there += lengthAt(other, there);
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const U = 0x75;
/** Escapes of one character that stand for another. */
const SHORT: ReadonlyMap<number, number> = new Map(
  Object.entries({ b: 8, t: 9, n: 10, f: 12, r: 13 }).map(([name, unit]) => [name.charCodeAt(0), unit]),
);
/** Marks a quotation mark that is escaped, and ends no string. */
const ESCAPED_QUOTE = -1;

const isBlank = (unit: number): boolean => unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;

/** Digits, letters, "+", "-" and ".". */
const isWord = (unit: number): boolean =>
  (unit >= 0x30 && unit <= 0x39) ||
  ((unit | 0x20) >= 0x61 && (unit | 0x20) <= 0x7a) ||
  unit === 0x2b ||
  unit === 0x2d ||
  unit === 0x2e;

function unitAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit !== BACKSLASH) return unit;
  const kind = text.charCodeAt(at + 1);
  const meant = kind === U ? Number.parseInt(text.slice(at + 2, at + 6), 16) : (SHORT.get(kind) ?? kind);
  return meant === QUOTE ? ESCAPED_QUOTE : meant;
}

/** Length of what stands for the unit there. */
function lengthAt(text: string, at: number): number {
  if (text.charCodeAt(at) !== BACKSLASH) return 1;
  return text.charCodeAt(at + 1) === U ? 6 : 2;
}
