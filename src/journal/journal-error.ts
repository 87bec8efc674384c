import { PortcullisError, REMEDIES } from "../base/index.ts";
import type { Head, Lease } from "./journal.ts";

/** The errors that every store rejects with. */

/** Also for an execution of another tenant, in the same words. */
export function executionUnknown(execution: string, why: string = REMEDIES.execution_unknown): PortcullisError {
  return new PortcullisError(
    "execution_unknown",
    `The journal holds no execution ${JSON.stringify(execution)}. ${why}`,
  );
}

export function executionExists(execution: string): PortcullisError {
  return new PortcullisError(
    "execution_exists",
    `The journal already holds an execution ${JSON.stringify(execution)}.`,
  );
}

export function headMoved(execution: string, head: Head, expected: Head): PortcullisError {
  return new PortcullisError(
    "head_moved",
    `Execution ${JSON.stringify(execution)} has ${head} records, not ${expected}: another driver has appended to it.`,
  );
}

/** A store holds something that it has not written. */
export function journalDamaged(what: string, cause?: unknown): PortcullisError {
  const message = `The journal is damaged: ${what}. Restore it from a backup.`;
  return new PortcullisError("journal_corrupt", message, cause === undefined ? {} : { cause });
}

/** A store of another build. `where` names it, `found` is the version of its tables, and `reads` that of this build. */
export function otherTables(where: string, found: number | undefined, reads: number): PortcullisError {
  return new PortcullisError(
    "journal_version",
    `The journal ${where} has version ${String(found)} of its tables, and this version of portcullis reads version ${reads}. Open it with the version that wrote it, or export it there with: portcullis journal export`,
  );
}

/** `holder` is the driver that holds the execution. */
export function driverChanged(execution: string, holder: string | undefined, { driver }: Lease): PortcullisError {
  return new PortcullisError(
    "head_moved",
    `Execution ${JSON.stringify(execution)} is driven by ${JSON.stringify(holder ?? null)}, not by ${JSON.stringify(driver)}.`,
  );
}
