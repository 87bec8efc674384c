import { standardStreams, writeInTime, writeStdout } from "./standard-streams.ts";
import { foldLines, oneLine } from "./one-line.ts";

export function printJson(value: unknown): void {
  writeStdout(`${JSON.stringify(value)}\n`);
}

/** Prints lines that have foreign text in them, in time for the next ones. */
export async function printLines(lines: readonly string[]): Promise<void> {
  const columns = standardStreams().stdout.columns || Number.POSITIVE_INFINITY;
  await writeInTime(`${foldLines(lines, columns).join("\n")}\n`);
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
