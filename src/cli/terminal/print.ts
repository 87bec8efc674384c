import { writeStdout } from "./standard-streams.ts";
import { cleanText } from "../../output/clean-text.ts";
import { table } from "./table.ts";

/** Prints a value as one line of JSON on standard output. */
export function printJson(value: unknown): void {
  writeStdout(`${cleanText(JSON.stringify(value))}\n`);
}

/** Prints a table on standard output. Columns named in `right` are right-aligned. */
export function printTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly string[] = [],
): void {
  writeStdout(`${cleanText(table(head, rows, right))}\n`);
}
