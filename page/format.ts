const NUMBER = new Intl.NumberFormat("en-US");
const UNITS = ["KiB", "MiB", "GiB"];

export function count(number: number): string {
  return NUMBER.format(number);
}

/** `1 call`, `2 calls`. */
export function counted(number: number, what: string): string {
  return `${count(number)} ${what}${number === 1 ? "" : "s"}`;
}

export function bytes(number: number): string {
  if (number < 1024) return `${number} B`;
  let value = number;
  let unit = "B";
  for (const larger of UNITS) {
    if (value < 1024) break;
    value /= 1024;
    unit = larger;
  }
  return `${value >= 100 ? Math.round(value) : value.toFixed(1)} ${unit}`;
}

export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}

/** A time of the reader's own zone. */
export function time(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime())
    ? ""
    : date.toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" });
}

/** A limit's value in the unit at the end of its name. */
export function amount(name: string, value: number): string {
  if (name.endsWith("Ms")) return duration(value);
  if (name.endsWith("Bytes")) return bytes(value);
  return count(value);
}
