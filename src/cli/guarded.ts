import { writeSync } from "node:fs";
import { type Failure, reasonOf } from "./failure.ts";
import { oneLine } from "./terminal/one-line.ts";

interface Guard {
  /** Makes the failure to report from the reason. */
  readonly failure: (reason: string, cause?: unknown) => Failure;
  readonly fail: (failure: Failure) => void;
}

const guards: Guard[] = [];

/**
 * Waits for work that runs foreign code. Rejects with a `Failure` if that code ends the process instead of throwing: by
 * an unhandled error, a promise that can never settle, or `process.exit`. Of nested guards the innermost reports.
 */
export async function guardWork<Value>(work: () => Promise<Value>, failure: Guard["failure"]): Promise<Value> {
  const { promise: broken, reject: fail } = Promise.withResolvers<never>();
  const guard = { failure, fail };
  guards.push(guard);
  try {
    return await Promise.race([work(), broken]);
  } finally {
    guards.splice(guards.indexOf(guard), 1);
  }
}

let outlast: ((error: unknown) => void) | undefined;

/**
 * Until disposed of, tells errors that would end the process, and lets it go on: a server has other clients than the
 * client whose call left a rejection behind.
 */
export function outlastErrors(tell: (error: unknown) => void): Disposable {
  outlast = tell;
  return {
    [Symbol.dispose]: () => {
      outlast = undefined;
    },
  };
}

/** Reports errors that would end the process to the innermost guard. Without a guard all work has ended, and they are ignored. */
export function listenToProcess(): void {
  const onError = (error: unknown) => (outlast ? outlast(error) : report((failure) => failure(reasonOf(error), error)));
  process.on("uncaughtException", onError);
  process.on("unhandledRejection", onError);
  process.on("beforeExit", () =>
    report((failure) => failure("nothing is left to run, but a promise is still pending.")),
  );
  process.on("exit", () => {
    const exited = guards.at(-1)?.failure("process.exit was called.");
    if (!exited) return;
    process.exitCode = exited.exitCode;
    try {
      writeSync(process.stderr.fd, `portcullis: ${oneLine(exited.message)}\n`);
    } catch {
      // Standard error is closed.
    }
  });
}

function report(make: (failure: Guard["failure"]) => Failure): void {
  const guard = guards.at(-1);
  guard?.fail(make(guard.failure));
}
