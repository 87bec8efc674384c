import { setImmediate } from "node:timers/promises";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";

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
  await Promise.all([process.stdout, process.stderr].map(flushed));
  // A stream emits its error after it has called the callbacks of its writes.
  await setImmediate();
  return lost;
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => void stream.write("", () => resolve()));
}

/** Writes to standard output, and resolves when it has been passed on: a reader that is slow does not fill the memory. */
export function write(text: string): Promise<void> {
  return new Promise((resolve) => void process.stdout.write(text, () => resolve()));
}
