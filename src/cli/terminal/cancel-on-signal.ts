import { EXIT } from "../failure.ts";

/** Signals that ask a process to end, with the exit code of a process that they end. */
const CODES = { SIGINT: EXIT.cancelled, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hungUp } as const;
const SIGNALS = Object.keys(CODES) as (keyof typeof CODES)[];

export interface Cancelling extends Disposable {
  /** Aborted by the first of these signals. A second signal of the same kind ends the process. */
  readonly signal: AbortSignal;
  /** Resolves with the first of these signals. */
  readonly asked: Promise<void>;
  /** Exit code for the signal that cancelled; `EXIT.cancelled` before there was one. */
  readonly exitCode: number;
}

/**
 * Until disposed, aborts `signal` when the process is asked to end, so that engines and containers are ended before it.
 * `interrupt` is asked at each SIGINT first: true if it has interrupted something, and the process goes on.
 */
export function cancelOnSignal(interrupt: () => boolean = () => false): Cancelling {
  const cancel = new AbortController();
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  let exitCode: number = EXIT.cancelled;
  const onSignal = (name: NodeJS.Signals) => {
    if (name === "SIGINT" && interrupt()) return;
    process.off(name, onSignal);
    if (!cancel.signal.aborted) exitCode = CODES[name as keyof typeof CODES];
    cancel.abort();
    resolve();
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  return {
    signal: cancel.signal,
    asked,
    get exitCode() {
      return exitCode;
    },
    [Symbol.dispose](): void {
      for (const name of SIGNALS) process.off(name, onSignal);
    },
  };
}
