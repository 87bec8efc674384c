import { type ErrorCode, PortcullisError } from "../../base/index.ts";

type Fault = readonly [code: ErrorCode, what: string, advice: string];

const LOCKED: Fault = [
  "journal_locked",
  "is locked by another process",
  "Nothing was written. End that process, or try again.",
];
const READ_ONLY: Fault = [
  "journal_read_only",
  "cannot be opened or written",
  "Check the owner and the mode of the file and its folder.",
];
/** The disk, its quota or a limit of the process has refused: the file may be whole. */
const NOT_REACHED: Fault = [
  "journal_unavailable",
  "cannot be read or written",
  "Look at its disk, its quota and the limit of file sizes (ulimit -f), and try again. `portcullis journal check` tells whether it is whole.",
];
const CORRUPT: Fault = [
  "journal_corrupt",
  "is damaged, or is not a journal",
  "Restore it from a backup, or give another path.",
];
const FULL: Fault = [
  "journal_full",
  "has no more space",
  "Nothing of this append was written. Free space on its disk, raise maxBytes, or prune old executions.",
];

/** By primary result codes of SQLite (https://sqlite.org/rescode.html). */
const FAULTS: readonly (readonly [Fault, readonly number[]])[] = [
  [LOCKED, [5, 6]],
  [READ_ONLY, [3, 8, 14]],
  [NOT_REACHED, [10]],
  [CORRUPT, [11, 26]],
  [FULL, [13]],
];

/** Whether another connection holds the lock that was needed. */
export function isBusy(error: unknown): boolean {
  return faultOf(error) === LOCKED;
}

/** An error of SQLite as a `PortcullisError` that says what to do; any other error as it is. */
export function storeError(error: unknown, file: string): unknown {
  const [code, what, advice] = faultOf(error) ?? [];
  if (!code) return error;
  const why = (error as Error).message;
  return new PortcullisError(code, `The journal ${file} ${what} (${why}). ${advice}`, { cause: error });
}

function faultOf(error: unknown): Fault | undefined {
  const { code, errcode = 0 } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: number };
  // A number of the file that JavaScript cannot hold.
  if (error instanceof RangeError && code === "ERR_OUT_OF_RANGE") return CORRUPT;
  // Extended codes hold the primary one in their lowest byte.
  return FAULTS.find(([, codes]) => codes.includes(errcode & 0xff))?.[0];
}
