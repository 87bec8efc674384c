import { parsedJson } from "./json-text.ts";
import { measure } from "./json-scanner.ts";

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
export function readPlainData(text: string, maxValues = Infinity, measured = measure(text)): PlainData {
  const { depth, values } = measured;
  if (depth > PLAIN_DEPTH) return { ok: false, reason: `it is nested more than ${PLAIN_DEPTH} levels deep` };
  if (values > maxValues) return { ok: false, reason: `it holds more than ${maxValues} values` };
  const value = parsedJson(text, true);
  if (value === undefined) return { ok: false, reason: "it is not JSON" };
  const reason = faultIn(value);
  return reason === undefined ? { ok: true, value } : { ok: false, reason };
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

export const TOO_LARGE = "it holds a number that is too large";

function isInfinite(value: unknown): boolean {
  return value === Infinity || value === Number.NEGATIVE_INFINITY;
}
