/** Digits that a double may not hold. */
const LONG = /\d{16}/;
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

/** The value of a JSON text, with its whole numbers as `integerOf` has them. Throws for a text that is no JSON. */
export function exactJson(text: string): unknown {
  return LONG.test(text) ? JSON.parse(text, exact) : JSON.parse(text);
}

function exact(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const written = context?.source ?? "";
  return typeof value === "number" && !Number.isSafeInteger(value) && INTEGER.test(written)
    ? integerOf(written)
    : value;
}

/** The number of these digits in a JSON text, which JSON.stringify writes. */
export function jsonNumber(digits: string): unknown {
  return (JSON as unknown as { readonly rawJSON: (text: string) => unknown }).rawJSON(digits);
}
