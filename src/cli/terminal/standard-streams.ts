import { cleanText, INSET, nextTurn } from "../../base/index.ts";
import { styleText } from "node:util";

/**
 * Foreign text (names that a model called, messages, details of an engine) as part of one line on a terminal: without
 * control characters, and without line breaks, so that it cannot imitate a line of the command line.
 */
export function oneLine(text: string): string {
  return cleanText(text).replaceAll(/[\n\t]/g, " ");
}

/** The beginning of a foreign text in one line, of at most `length` UTF-16 code units and `…` for the rest. */
export function shortLine(text: string, length: number): string {
  const line = oneLine(text.slice(0, length));
  return text.length > length ? `${line}…` : line;
}

/** Fewest cells of a line: a terminal that is narrower breaks lines itself. */
const LEAST = 20;

/**
 * Foreign text as indented lines that are narrower than the terminal. It would break a longer line, and the rest would
 * begin at the left edge, where it could imitate a line of the command line.
 */
export function wrappedLines(text: string, columns: number): readonly string[] {
  const room = Math.max(LEAST, columns - INSET.length - 1);
  return cleanText(text)
    .split("\n")
    .flatMap((line) => {
      const parts: string[] = [];
      let [part, cells] = ["", 0];
      for (const character of line) {
        part += character;
        cells += cellsOf(character);
        // What is left behind an early space may be too long still.
        while (cells > room) {
          const end = part.lastIndexOf(" ", part.length - 1 - character.length) + 1 || part.length - character.length;
          parts.push(INSET + part.slice(0, end).trimEnd());
          part = part.slice(end);
          cells = cellsOf(part);
        }
      }
      return [...parts, INSET + part];
    });
}

/** How much deeper than foreign text the rest of a line is. */
const FOLD = "    ";

/**
 * Lines of which a terminal breaks none. It would put the rest of a longer line at its left edge, where foreign text in it could
 * imitate a line of the command line: the rest is indented deeper than any of its lines.
 */
export function foldLines(lines: readonly string[], columns: number): readonly string[] {
  return lines.flatMap((line) =>
    cellsOf(line) < columns
      ? [line]
      : wrappedLines(line, columns - FOLD.length).map((part, index) =>
          index === 0 ? part.slice(INSET.length) : FOLD + part,
        ),
  );
}

/** Cells that a text takes at most: terminals disagree about characters that are not Latin. */
function cellsOf(text: string): number {
  let cells = 0;
  for (const character of text) cells += character === "\t" ? 8 : character < "\u0300" ? 1 : 2;
  return cells;
}

/** The streams that a command reads and writes. */
export type Streams = Pick<NodeJS.Process, "stdin" | "stdout" | "stderr">;

/** Standard output of this process, also after `keepStdout`. */
const writeToProcess = process.stdout.write.bind(process.stdout);

// A process runs one command at a time: its streams need not be handed through every function that prints.
let current: Streams = process;
let write = writeToProcess;

/** From here on, commands read and write these streams. */
export function useStreams(streams: Streams): void {
  current = streams;
  write = streams.stdout === process.stdout ? writeToProcess : streams.stdout.write.bind(streams.stdout);
}

/** The streams of the command that runs. */
export function standardStreams(): Streams {
  return current;
}

/**
 * Writes the command's own output. Names, ids and messages in it may come from others, so no character of the text
 * controls a terminal.
 */
export function writeStdout(text: string): void {
  write(cleanText(text));
}

/** Like `writeStdout`, with a style, which is the only control of a terminal that it writes. */
export function writeStyled(style: Parameters<typeof styleText>[0], text: string): void {
  write(styleText(style, cleanText(text)));
}

/** Writes what is said about the command's work. No character of the text controls a terminal. */
export function writeStderr(text: string): void {
  current.stderr.write(cleanText(text));
}

/** Says on a terminal what begins and may take long. */
export function tellWork(what: string): void {
  if (current.stderr.isTTY) writeStderr(`${what.replaceAll(/\s+/g, " ")}\n`);
}

/**
 * From here on, what other code of this process writes to `process.stdout`, or with `console.log`, goes to standard
 * error: modules of tools print what they like, and standard output holds the command's result alone.
 */
export function keepStdout(): void {
  const { stderr } = current;
  process.stdout.write = ((...args: Parameters<typeof stderr.write>) => stderr.write(...args)) as typeof stderr.write;
}

let lost: string | undefined;

/**
 * Keeps the process alive when its output cannot be written. A closed pipe (`| head -1`) is not a failure: the command
 * finishes, because a program may be changing something, and its exit code stays the same. Output that cannot be stored
 * (`> /full/disk`) is a failure. Errors of standard error are ignored.
 */
export function listenToStreams(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return;
    lost ??= `Standard output cannot be written: ${error.message}`;
  });
  process.stderr.on("error", () => {});
}

/** Waits until all output is written. Resolves with a sentence if standard output could not be written. */
export async function flush(): Promise<string | undefined> {
  await Promise.all([flushed(writeToProcess), flushed(process.stderr.write.bind(process.stderr))]);
  // A stream emits its error after it has called the callbacks of its writes.
  await nextTurn();
  return lost;
}

function flushed(writeTo: NodeJS.WriteStream["write"]): Promise<unknown> {
  return new Promise<unknown>((resolve) => void writeTo("", resolve));
}

/** Like `writeStdout`. Resolves when the text has been passed on: a slow reader does not fill the memory. */
export function writeInTime(text: string): Promise<void> {
  return new Promise((resolve) => void write(cleanText(text), () => resolve()));
}

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
        return right.includes(name) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!);
      })
      .join("  ")
      .trimEnd();
  return [line(head), line(widths.map((one) => "─".repeat(one))), ...cleaned.map(line)].join("\n");
}
