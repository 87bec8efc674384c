/** Levels of nesting that are measured; what is deeper is left to the serialiser. */
const DEPTH = 1000;

export type ResultText =
  | { readonly type: "text"; readonly text: string; readonly bytes: number }
  /** `bytes` is at least what the text would have had. */
  | { readonly type: "too_large"; readonly bytes: number }
  | { readonly type: "not_json"; readonly cause: unknown };

/** JSON text of what a handler returned. Nothing returned is `null`. */
export function resultText(value: unknown, allowedBytes: number): ResultText {
  try {
    const text = JSON.stringify(value) ?? "null";
    const bytes = Buffer.byteLength(text);
    return bytes > allowedBytes ? { type: "too_large", bytes } : { type: "text", text, bytes };
  } catch (cause) {
    return { type: "not_json", cause };
  }
}

/**
 * At least so many bytes of JSON a value would have; it stops counting once that is over `enough`. So a result
 * far over its limit is refused for a walk over its first part, and never stands in memory a second time as text.
 */
export function leastBytes(value: unknown, enough: number): number {
  return add(0, value, enough, 0);
}

function add(bytes: number, value: unknown, enough: number, depth: number): number {
  if (typeof value === "string") return bytes + value.length + 2;
  if (typeof value !== "object" || value === null) return bytes + 1;
  if (depth === DEPTH || typeof (value as { toJSON?: unknown }).toJSON === "function") return bytes;
  let sum = bytes + 2;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && sum <= enough; index += 1)
      sum = add(sum + 1, value[index], enough, depth + 1);
    return sum;
  }
  for (const key of Object.keys(value)) {
    if (sum > enough) return sum;
    sum = add(sum + key.length + 4, (value as Record<string, unknown>)[key], enough, depth + 1);
  }
  return sum;
}

/** What kind of value a result is, in a word or two, for people: `array of 200`. */
export function resultType(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return `array of ${value.length}`;
  return typeof value;
}
