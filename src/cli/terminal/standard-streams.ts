import { setImmediate } from "node:timers/promises";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";

let lost: Failure | undefined;

/**
 * Keeps the process alive when its output cannot be written. A reader that has gone (`| head -1`) is no failure: what
 * was begun is finished, for a program may be changing something, and the exit code is the one it would have had.
 * What cannot be stored (`> /full/disk`) is one. Nothing that is said on standard error is worth failing for.
 */
export function listenToStreams(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return;
    lost ??= new Failure(EXIT.environment, `Standard output cannot be written: ${error.message}`);
  });
  process.stderr.on("error", () => {});
}

/** Waits until everything printed has left, and resolves with why it could not, where it could not. */
export async function flush(): Promise<Failure | undefined> {
  await Promise.all([process.stdout, process.stderr].map(flushed));
  // A stream emits its error after it has called the callbacks of its writes.
  await setImmediate();
  return lost;
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => void stream.write("", () => resolve()));
}
