/** A number of bytes in the largest unit that fits, like `2.9 KiB`. */
export function byteText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB"];
  let value = bytes;
  let unit = "B";
  for (const larger of units) {
    if (value < 1024) break;
    value /= 1024;
    unit = larger;
  }
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${unit}`;
}
