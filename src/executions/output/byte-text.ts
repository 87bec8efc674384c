const UNITS = ["B", "KiB", "MiB", "GiB"];

/** A number of bytes in the largest unit that fits, like `2.9 KiB`. */
export function byteText(bytes: number): string {
  const power = UNITS.findLastIndex((_, larger) => larger === 0 || bytes >= 1024 ** larger);
  const value = bytes / 1024 ** power;
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${UNITS[power]}`;
}
