/** JSON text of a value; undefined for a value that has none. Whatever the value's own code throws is ignored. */
export function jsonTextOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
