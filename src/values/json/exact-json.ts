/** Digits that a double may not hold. */
export const LONG_NUMBER = /\d{16}/;
const INTEGER = /^-?[1-9]\d{15,400}$/;

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
  return typeof value === "string" && INTEGER.test(value) && integerOf(value) === value;
}

/**
 * A string, or a whole number of so many digits that stands for a value. Numbers are found in the text: a function that JSON.parse
 * calls for each value takes 60 times as long.
 */
const STRINGS_AND_INTEGERS = /"[^"\\]*(?:\\[^][^"\\]*)*"?|(?<![\d.eE+-])-?[1-9]\d{15,400}(?![\d.eE]|\s*:)/g;

/** A JSON text with its whole numbers as `integerOf` has them. A text that is no JSON is none afterwards. */
export function exactText(text: string): string {
  if (!LONG_NUMBER.test(text)) return text;
  return text.replaceAll(STRINGS_AND_INTEGERS, (part) =>
    part.startsWith('"') || typeof integerOf(part) === "number" ? part : `"${part}"`,
  );
}

/** The value of `exactText`. Throws for a text that is no JSON. */
export function exactJson(text: string): unknown {
  return JSON.parse(exactText(text));
}

/** The number of these digits in a JSON text, which JSON.stringify writes. */
export function jsonNumber(digits: string): unknown {
  return (JSON as unknown as { readonly rawJSON: (text: string) => unknown }).rawJSON(digits);
}
