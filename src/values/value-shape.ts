/** Rows that a shape is inferred from. */
const ROWS_READ = 20;
export const FIELDS_SHOWN = 24;
const DEPTH_SHOWN = 4;

/** Full number of entries of each list and record that is cut. */
type Counts = ReadonlyMap<object, number>;

export function entryCount(container: object, counts: Counts): number {
  return counts.get(container) ?? Object.keys(container).length;
}

/** The TypeScript type of a value, inferred from its first rows. A list's length follows its type, but not within rows: it may differ from row to row. */
export function shapeOf(value: unknown, counts: Counts, depth = 0, inRow = false): string {
  if (value === null) return "null";
  if (Array.isArray(value)) {
    const rows = merged(value.slice(0, ROWS_READ).map((row) => shapeOf(row, counts, depth + 1, true)));
    return depth === 0 || inRow ? `${rows}[]` : `${rows}[] /* ${entryCount(value, counts)} */`;
  }
  if (typeof value !== "object") return typeof value;
  if (depth >= DEPTH_SHOWN) return "object";
  const names = Object.keys(value);
  const fields = names
    .slice(0, FIELDS_SHOWN)
    .map((name) => `${cut(name, 40)}: ${shapeOf((value as Record<string, unknown>)[name], counts, depth + 1, inRow)}`);
  const unlisted = entryCount(value, counts) - Math.min(names.length, FIELDS_SHOWN);
  const more = unlisted > 0 ? [`… ${unlisted} more`] : [];
  return `{ ${[...fields, ...more].join(", ")} }`;
}

function merged(shapes: readonly string[]): string {
  const different = [...new Set(shapes)];
  if (different.length <= 1) return different[0] ?? "unknown";
  return different.length <= 3 ? `(${different.join(" | ")})` : `(${different.slice(0, 3).join(" | ")} | …)`;
}

export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(0, length - 1))}…`;
}
