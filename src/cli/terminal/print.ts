import { writeStdout } from "./standard-streams.ts";
import { oneLine } from "./one-line.ts";

/** Prints a value as one line of JSON on standard output. */
export function printJson(value: unknown): void {
  writeStdout(`${JSON.stringify(value)}\n`);
}

/** Prints a table on standard output. Columns named in `right` are right-aligned. */
export function printTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly string[] = [],
): void {
  writeStdout(`${table(head, rows, right)}\n`);
}

/** A table as text: a head, then one line per row, in columns as wide as their widest cell. Columns named in `right` are right-aligned. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly string[] = [],
): string {
  const cleaned = rows.map((row) => row.map(oneLine));
  const widths = head.map((name, column) =>
    cleaned.reduce((max, row) => Math.max(max, (row[column] ?? "").length), name.length),
  );
  const line = (cells: readonly string[]) =>
    head
      .map((name, column) => {
        const cell = cells[column] ?? "";
        const space = " ".repeat((widths[column] ?? 0) - cell.length);
        return right.includes(name) ? space + cell : cell + space;
      })
      .join("  ")
      .trimEnd();
  return [line(head), line(widths.map((one) => "─".repeat(one))), ...cleaned.map(line)].join("\n");
}
