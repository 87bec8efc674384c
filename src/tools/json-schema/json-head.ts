/** The text of each object, as far as it was asked for: a schema's value is shown again for each part that refers to it. */
const heads = new WeakMap<object, string>();
/** Characters that are kept of a text. */
const KEPT = 512;

/**
 * The beginning of a value's JSON text: the whole, or more than `length` characters of it, which may be 511 at most. Undefined
 * for a value that has none.
 */
export function jsonHead(value: unknown, length: number): string | undefined {
  if (typeof value === "string") return JSON.stringify(value.slice(0, length + 1));
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const before = heads.get(value);
  if (before !== undefined) return before;
  const head = JSON.stringify(value)?.slice(0, KEPT);
  if (head !== undefined) heads.set(value, head);
  return head;
}
