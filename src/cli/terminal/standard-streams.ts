import { styleText } from "node:util";
import { nextTurn } from "../../clock.ts";
import { cleanText } from "../../output/clean-text.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import type { Screen } from "./screen.ts";

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
  isWithinLine = false;
  write = streams.stdout === process.stdout ? writeToProcess : streams.stdout.write.bind(streams.stdout);
}

let remove = (): void => {};

/** From here on, called before the command writes to a terminal: what is drawn in its last line is to be removed. */
export function hideBeforeWriting(hide: () => void): void {
  remove = hide;
}

let isWithinLine = false;

/** Whether the command has written a part of a line to the terminal, in whose place nothing else may be drawn. */
export function hasBegunLine(): boolean {
  return isWithinLine;
}

function makeRoom({ isTTY }: NodeJS.WriteStream, text: string): void {
  if (!isTTY || text === "") return;
  remove();
  isWithinLine = !text.endsWith("\n");
}

let isDrawing = false;

/** Draws on a terminal without taking the place of what is drawn. */
export function writeDrawn(stream: NodeJS.WriteStream, text: string): void {
  isDrawing = true;
  stream.write(text);
  isDrawing = false;
}

/**
 * Until it is disposed of, what other code writes to this terminal takes the place of what is drawn, too: handlers of tools log
 * what they like. A question has the terminal for itself.
 */
export function watchWrites(stream: NodeJS.WriteStream, screen: Pick<Screen, "isTaken">): Disposable {
  // oxlint-disable-next-line typescript/unbound-method
  const before = stream.write;
  const passOn = before.bind(stream);
  const watched = ((chunk: string | Uint8Array, ...rest: never[]) => {
    if (!isDrawing && !screen.isTaken)
      makeRoom(stream, typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("latin1"));
    return passOn(chunk, ...rest);
  }) as typeof stream.write;
  stream.write = watched;
  return {
    [Symbol.dispose]: () => {
      if (stream.write === watched) stream.write = before;
    },
  };
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
  makeRoom(current.stdout, text);
  write(cleanText(text));
}

/** Like `writeStdout`, with a style, which is the only control of a terminal that it writes. */
export function writeStyled(style: Parameters<typeof styleText>[0], text: string): void {
  makeRoom(current.stdout, text);
  write(styleText(style, cleanText(text)));
}

/** Writes what is said about the command's work. No character of the text controls a terminal. */
export function writeStderr(text: string): void {
  makeRoom(current.stderr, text);
  current.stderr.write(cleanText(text));
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
  makeRoom(current.stdout, text);
  return new Promise((resolve) => void write(cleanText(text), () => resolve()));
}
