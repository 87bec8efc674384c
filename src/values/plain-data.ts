/** Maximum nesting depth of a value from a guest. */
export const PLAIN_DEPTH = 100;

export type PlainData =
  | { readonly ok: true; readonly value: unknown }
  /** Why the value is refused. */
  | { readonly ok: false; readonly reason: string };

/**
 * Reads untrusted JSON. Depth and number of values are measured before parsing, because they make parsing cost far more
 * than the text's length suggests. Two checks follow after parsing, when escapes are decoded. A field named `__proto__`
 * is refused, because it becomes a prototype when fields are copied. A number too large for JavaScript is refused,
 * because it parses as Infinity, which most schemas accept and JSON cannot express.
 */
export function readPlainData(text: string, maxValues = Number.POSITIVE_INFINITY, measured = measure(text)): PlainData {
  const { depth, values } = measured;
  if (depth > PLAIN_DEPTH) return { ok: false, reason: `it is nested more than ${PLAIN_DEPTH} levels deep` };
  if (values > maxValues) return { ok: false, reason: `it holds more than ${maxValues} values` };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, reason: "it is not JSON" };
  }
  const reason = faultIn(value);
  return reason === undefined ? { ok: true, value } : { ok: false, reason };
}

export const QUOTE = 34;
export const COMMA = 44;
const BACKSLASH = 92;
const OPEN_LIST = 91;
const CLOSE_LIST = 93;
const OPEN_RECORD = 123;
const CLOSE_RECORD = 125;

export const isOpening = (unit: number): boolean => unit === OPEN_LIST || unit === OPEN_RECORD;
export const isClosing = (unit: number): boolean => unit === CLOSE_LIST || unit === CLOSE_RECORD;

/** Measurements of a JSON text, taken before it is parsed. */
export interface Measured {
  readonly depth: number;
  readonly values: number;
}

/** Nesting depth, and an upper bound of the number of values, of a text that may be JSON. */
export function measure(text: string): Measured {
  let level = 0;
  let depth = 0;
  let values = 1;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === QUOTE) index = endOfString(text, index);
    else if (unit === COMMA) values += 1;
    else if (isOpening(unit)) {
      level += 1;
      values += 1;
      if (level > depth) depth = level;
    } else if (isClosing(unit)) level -= 1;
  }
  return { depth, values };
}

/** Index of the quotation mark that closes the string opened at `start`; the text's length if there is none. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = end;
    while (escapes > start + 1 && text.charCodeAt(escapes - 1) === BACKSLASH) escapes -= 1;
    if ((end - escapes) % 2 === 0) return end;
  }
  return text.length;
}

function faultIn(root: unknown): string | undefined {
  const open: unknown[] = [root];
  if (isInfinite(root)) return TOO_LARGE;
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    if (Object.hasOwn(value, "__proto__")) return "it has a field called __proto__";
    for (const child of Object.values(value)) {
      if (typeof child === "object" && child !== null) open.push(child);
      else if (isInfinite(child)) return TOO_LARGE;
    }
  }
  return undefined;
}

const TOO_LARGE = "it holds a number that is too large";

function isInfinite(value: unknown): boolean {
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;
}
