import { writeStdout } from "./standard-streams.ts";
import { foldLines } from "./fold-lines.ts";
import { oneLine, widthOf } from "./one-line.ts";

export function printJson(value: unknown): void {
  writeStdout(`${JSON.stringify(value)}\n`);
}

export function printTable(...of: Parameters<typeof table>): void {
  writeStdout(`${table(...of)}\n`);
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
        return right.includes(name) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
      })
      .join("  ")
      .trimEnd();
  return [line(head), line(widths.map((one) => "─".repeat(one))), ...cleaned.map(line)].join("\n");
}

/** A table as lines of a terminal with so many columns: where it is wider, the rows one after the other, as text. */
export function tableLines(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number | undefined,
): readonly string[] {
  const lines = table(head, rows).split("\n");
  if (columns === undefined || lines.every((line) => widthOf(line) < columns)) return lines;
  const texts = rows.map((row) =>
    row.flatMap((cell, column) => (cell === "" ? [] : [`${head[column] ?? ""} ${oneLine(cell)}`])).join(", "),
  );
  return foldLines(texts, columns);
}
