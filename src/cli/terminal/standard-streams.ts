import { styleText } from "node:util";
import { cleanText, nextTurn } from "../../base/index.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";

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

let lost: Failure | undefined;

/**
 * Keeps the process alive when its output cannot be written. A closed pipe (`| head -1`) is not a failure: the command
 * finishes, because a program may be changing something, and its exit code stays the same. Output that cannot be stored
 * (`> /full/disk`) is a failure. Errors of standard error are ignored.
 */
export function listenToStreams(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return;
    lost ??= new Failure(EXIT.environment, `Standard output cannot be written: ${error.message}`);
  });
  process.stderr.on("error", () => {});
}

/** Waits until all output is written. Resolves with a failure if standard output could not be written. */
export async function flush(): Promise<Failure | undefined> {
  await Promise.all([flushed(writeToProcess), flushed(process.stderr.write.bind(process.stderr))]);
  // A stream emits its error after it has called the callbacks of its writes.
  await nextTurn();
  return lost;
}

function flushed(writeTo: NodeJS.WriteStream["write"]): Promise<void> {
  return new Promise((resolve) => void writeTo("", () => resolve()));
}

/** Like `writeStdout`. Resolves when the text has been passed on: a slow reader does not fill the memory. */
export function writeInTime(text: string): Promise<void> {
  return new Promise((resolve) => void write(cleanText(text), () => resolve()));
}
