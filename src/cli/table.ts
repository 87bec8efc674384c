import { stripVTControlCharacters } from "node:util";

/** Rows under a head, in columns as wide as their widest cell. Columns named in `right` stand at their right edge. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly string[] = [],
): string {
  const widths = head.map((name, column) =>
    rows.reduce((widest, row) => Math.max(widest, width(row[column] ?? "")), name.length),
  );
  const line = (cells: readonly string[]) =>
    head
      .map((name, column) => {
        const cell = cells[column] ?? "";
        const space = " ".repeat((widths[column] ?? 0) - width(cell));
        return right.includes(name) ? space + cell : cell + space;
      })
      .join("  ")
      .trimEnd();
  return [line(head), line(widths.map((one) => "─".repeat(one))), ...rows.map(line)].join("\n");
}

function width(cell: string): number {
  return stripVTControlCharacters(cell).length;
}
