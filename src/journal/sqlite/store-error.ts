import { PortcullisError } from "../../base/index.ts";

/** Primary result codes of SQLite (https://sqlite.org/rescode.html). */
const BUSY = 5;
const LOCKED = 6;
const FAULTS: ReadonlyMap<number, (file: string, cause: Error) => PortcullisError> = new Map([
  [BUSY, locked],
  [LOCKED, locked],
  [3, readOnly],
  [8, readOnly],
  [14, readOnly],
  [10, notReached],
  [11, corrupt],
  [26, corrupt],
  [13, full],
]);

/** Whether another connection holds the lock that was needed. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error);
  return code === BUSY || code === LOCKED;
}

/** An error of SQLite as a `PortcullisError` that says what to do; any other error as it is. */
export function storeError(error: unknown, file: string): unknown {
  // A number of the file that JavaScript cannot hold.
  if (error instanceof RangeError && "code" in error && error.code === "ERR_OUT_OF_RANGE") return corrupt(file, error);
  return FAULTS.get(primaryCode(error) ?? -1)?.(file, error as Error) ?? error;
}

function locked(file: string, cause: Error): PortcullisError {
  const message = `The journal ${file} is locked by another process (${cause.message}). Nothing was written. End that process, or try again.`;
  return new PortcullisError("journal_locked", message, { cause });
}

function readOnly(file: string, cause: Error): PortcullisError {
  const message = `The journal ${file} cannot be opened or written (${cause.message}). Check the owner and the mode of the file and its folder.`;
  return new PortcullisError("journal_read_only", message, { cause });
}

/** The disk, its quota or a limit of the process has refused: the file may be whole. */
function notReached(file: string, cause: Error): PortcullisError {
  const message = `The journal ${file} cannot be read or written (${cause.message}). Look at its disk, its quota and the limit of file sizes (ulimit -f), and try again. \`portcullis journal check\` tells whether it is whole.`;
  return new PortcullisError("journal_unavailable", message, { cause });
}

function corrupt(file: string, cause: Error): PortcullisError {
  const message = `The journal ${file} is damaged, or is not a journal (${cause.message}). Restore it from a backup, or give another path.`;
  return new PortcullisError("journal_corrupt", message, { cause });
}

function full(file: string, cause: Error): PortcullisError {
  const message = `The journal ${file} has no more space (${cause.message}). Nothing of this append was written. Free space on its disk, raise maxBytes, or prune old executions.`;
  return new PortcullisError("journal_full", message, { cause });
}

function primaryCode(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("errcode" in error)) return undefined;
  // Extended codes hold the primary one in their lowest byte.
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}
