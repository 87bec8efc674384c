import type { DatabaseSync } from "node:sqlite";
import { realpathSync, statSync } from "node:fs";
import { monotonic, pause, PortcullisError } from "../../base/index.ts";
import { isBusy, storeError } from "./store-error.ts";

/** Maximum wait between two attempts to get the lock, in milliseconds. */
const MAX_RETRY_MS = 50;

/** Reads and writes a journal's file, which other processes may use at the same time. */
export function transactionsIn(database: DatabaseSync, path: string, isRelaxed: boolean, lockTimeoutMs: number) {
  const opened = database.location() === null ? undefined : openFiles(path);
  const usual = isRelaxed ? "NORMAL" : "FULL";

  /** SQLite writes on into a file that was deleted, and what it writes is lost with the process. */
  const refuseGone = (): void => {
    const [journal, log] = opened ?? [];
    const gone = opened?.find((one) => identityOf(one.path) !== one.identity);
    if (gone === undefined) return;
    // This process alone still has what the deleted log holds, unless another one has begun a log in its place.
    if (gone !== journal && log && identityOf(log.path) === undefined) database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    throw new PortcullisError(
      "journal_gone",
      `${gone === journal ? `The journal ${path}` : `${gone.path}, which belongs to the journal,`} was deleted, moved or replaced while it was open. Nothing was written. ${gone === journal ? "Put it back, or open" : "Open"} the journal again.`,
    );
  };

  /**
   * Runs `run`, and runs it again while another process keeps the file locked. Does not block the thread. Rejects after
   * `lockTimeoutMs`, and if the file is closed.
   */
  const locked = async <Value>(run: () => Value): Promise<Value> => {
    const deadline = monotonic() + lockTimeoutMs;
    for (let waitMs = 1; ; waitMs = Math.min(2 * waitMs, MAX_RETRY_MS)) {
      try {
        if (!database.isOpen) throw new PortcullisError("runtime_closed", `The journal ${path} was closed.`);
        refuseGone();
        return run();
      } catch (error) {
        if (!isBusy(error) || monotonic() > deadline) throw storeError(error, path);
      }
      await pause(waitMs * (0.5 + Math.random()));
    }
  };

  /** With `FULL` what is written survives a loss of power, with `NORMAL` no disk is waited for. By default it is as the journal was opened. */
  const write = <Value>(run: () => Value, wanted: "FULL" | "NORMAL" = usual): Promise<Value> =>
    locked(() => {
      if (wanted === usual) return transaction(database, run);
      database.exec(`PRAGMA synchronous = ${wanted}`);
      try {
        return transaction(database, run);
      } finally {
        database.exec(`PRAGMA synchronous = ${usual}`);
      }
    });

  return { write, locked };
}

export type Transactions = ReturnType<typeof transactionsIn>;

function transaction<Value>(database: DatabaseSync, run: () => Value): Value {
  database.exec("BEGIN IMMEDIATE");
  try {
    const value = run();
    database.exec("COMMIT");
    return value;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

interface OpenFile {
  readonly path: string;
  readonly identity: string | undefined;
}

/** The journal's file, and those that SQLite keeps beside it, where links lead. */
function openFiles(path: string): readonly OpenFile[] {
  const file = realpathSync(path);
  return [path, `${file}-wal`, `${file}-shm`].map((each) => ({ path: each, identity: identityOf(each) }));
}

/** Tells a file from another file at the same path; undefined if there is none. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}
