import { oneLine } from "./one-line.ts";

/** Rows under a head, each in one line, in columns as wide as their widest cell. Columns named in `right` stand at their right edge. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly string[] = [],
): string {
  const cleaned = rows.map((row) => row.map(oneLine));
  const widths = head.map((name, column) =>
    cleaned.reduce((most, row) => Math.max(most, (row[column] ?? "").length), name.length),
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
