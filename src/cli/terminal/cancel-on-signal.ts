import { EXIT } from "../exit-code.ts";

/** What asks a process to end, by the exit code of one that it has ended. */
const CODES = { SIGINT: EXIT.cancelled, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hungUp } as const;
const SIGNALS = Object.keys(CODES) as (keyof typeof CODES)[];

export interface Cancelling extends Disposable {
  /** Aborted by the first of these signals. A second one of the same kind ends the process. */
  readonly signal: AbortSignal;
  /** Of a process that was cancelled. */
  readonly exitCode: number;
}

/** Cancels what runs where the process is asked to end, until it is disposed of: an engine or a container would outlive it. */
export function cancelOnSignal(): Cancelling {
  const cancel = new AbortController();
  let exitCode: number = EXIT.cancelled;
  const onSignal = (name: NodeJS.Signals) => {
    if (!cancel.signal.aborted) exitCode = CODES[name as keyof typeof CODES];
    cancel.abort();
  };
  for (const name of SIGNALS) process.once(name, onSignal);
  return {
    signal: cancel.signal,
    get exitCode() {
      return exitCode;
    },
    [Symbol.dispose]() {
      for (const name of SIGNALS) process.off(name, onSignal);
    },
  };
}
