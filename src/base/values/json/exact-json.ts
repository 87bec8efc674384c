/** Digits that a double may not hold. */
export const LONG_NUMBER = /\d{16}/;
/** Characters up to which a text may stand for a number: a schema asks for each of its parts. */
export const NUMBER_LENGTH = 1024;

/**
 * A whole number as JSON can carry it to everybody: a number if a double holds it, and the text of its digits if none does. So an
 * id of 64 bits is one value wherever it comes from.
 */
export function integerOf(digits: string): number | string {
  const number = Number(digits);
  // The shortest digits of a double may be those of another number.
  return String(number) === digits && BigInt(number) === BigInt(digits) ? number : digits;
}

/** The text of a whole number that no double holds. */
export function isLongInteger(value: unknown): value is string {
  return typeof value === "string" && value.length <= NUMBER_LENGTH && isInexact(value);
}

/** A JSON text with its whole numbers as `integerOf` has them. A text that is no JSON is none afterwards. */
export function exactText(text: string): string {
  if (!LONG_NUMBER.test(text)) return text;
  let written = "";
  let kept = 0;
  // Unit by unit: what calls a function for each string or value takes ten times as long.
  for (let at = 0; at < text.length;) {
    const start = at;
    const unit = text.charCodeAt(at);
    at = unit === QUOTE ? endOfString(text, at) : endOfNumber(text, at);
    if (at - start > 15 && unit !== QUOTE) {
      const digits = text.slice(start, at);
      if (isInexact(digits) && !isName(text, at)) {
        written += `${text.slice(kept, start)}"${digits}"`;
        kept = at;
      }
    }
    if (at === start) at += 1;
  }
  return written + text.slice(kept);
}

/** Whether a text is a whole number that no double holds. A pattern that repeats overflows its stack on megabytes. */
function isInexact(text: string): boolean {
  const digits = text.startsWith("-") ? text.slice(1) : text;
  return digits.length > 15 && !digits.startsWith("0") && !/\D/.test(digits) && integerOf(text) === text;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  return text.length;
}

/** Where what looks like a number ends: the start, if none does. */
function endOfNumber(text: string, start: number): number {
  let at = start;
  while (isNumberUnit(text.charCodeAt(at))) at += 1;
  return at;
}

/** Digits, and "+", "-", ".", "E" and "e". NaN, past the end of a text, is none. */
function isNumberUnit(unit: number): boolean {
  if (unit < 0x3a) return unit >= 0x30 || unit === 0x2b || unit === 0x2d || unit === 0x2e;
  return unit === 0x45 || unit === 0x65;
}

/** Whether a colon follows, so that what stands here would become the name of a field. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (/\s/.test(text.charAt(at))) at += 1;
  return text.charAt(at) === ":";
}

/** The value of `exactText`. Throws for a text that is no JSON. */
export function exactJson(text: string): unknown {
  return JSON.parse(exactText(text));
}

/** The number of these digits in a JSON text, which JSON.stringify writes. */
export function jsonNumber(digits: string): unknown {
  return (JSON as unknown as { readonly rawJSON: (text: string) => unknown }).rawJSON(digits);
}
