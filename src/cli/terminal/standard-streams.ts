import { setImmediate } from "node:timers/promises";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";

/** Standard output as the command line writes it, also after `keepStdout`. */
const write = process.stdout.write.bind(process.stdout);

/** Writes the command's own output. */
export function writeStdout(text: string): void {
  write(text);
}

/**
 * From here on, what other code of this process writes to `process.stdout`, or with `console.log`, goes to standard
 * error: modules of tools print what they like, and standard output holds the command's result alone.
 */
export function keepStdout(): void {
  process.stdout.write = process.stderr.write.bind(process.stderr);
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

/** Waits until all output is written. Resolves with a failure where standard output could not be. */
export async function flush(): Promise<Failure | undefined> {
  await Promise.all([flushed(write), flushed(process.stderr.write.bind(process.stderr))]);
  // A stream emits its error after it has called the callbacks of its writes.
  await setImmediate();
  return lost;
}

function flushed(writeTo: NodeJS.WriteStream["write"]): Promise<void> {
  return new Promise((resolve) => void writeTo("", () => resolve()));
}

/** Writes to standard output, and resolves when it has been passed on: a reader that is slow does not fill the memory. */
export function writeInTime(text: string): Promise<void> {
  return new Promise((resolve) => void write(text, () => resolve()));
}
