import type { DatabaseSync } from "node:sqlite";
import { realpathSync, statSync } from "node:fs";
import { monotonic, pause, PortcullisError } from "../../base/index.ts";
import { isBusy, storeError } from "./store-error.ts";

/** Maximum wait between two attempts to get the lock, in milliseconds. */
const MAX_RETRY_MS = 50;

/** Reads and writes a journal's file, which other processes may use at the same time. */
export class Transactions {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #isRelaxed: boolean;
  readonly #lockTimeoutMs: number;
  readonly #opened: readonly OpenFile[] | undefined;

  constructor(database: DatabaseSync, path: string, isRelaxed: boolean, lockTimeoutMs: number) {
    this.#database = database;
    this.#path = path;
    this.#isRelaxed = isRelaxed;
    this.#lockTimeoutMs = lockTimeoutMs;
    this.#opened = database.location() === null ? undefined : openFiles(path);
  }

  /** With `FULL` what is written survives a loss of power, with `NORMAL` no disk is waited for. By default it is as the journal was opened. */
  write<Value>(run: () => Value, wanted?: "FULL" | "NORMAL"): Promise<Value> {
    const usual = this.#isRelaxed ? "NORMAL" : "FULL";
    const needed = wanted ?? usual;
    return this.locked(() => {
      if (needed === usual) return this.#transaction(run);
      this.#database.exec(`PRAGMA synchronous = ${needed}`);
      try {
        return this.#transaction(run);
      } finally {
        this.#database.exec(`PRAGMA synchronous = ${usual}`);
      }
    });
  }

  /**
   * Runs `run`, and runs it again while another process keeps the file locked. Does not block the thread. Rejects after
   * `lockTimeoutMs`, and if the file is closed.
   */
  async locked<Value>(run: () => Value): Promise<Value> {
    const deadline = monotonic() + this.#lockTimeoutMs;
    for (let waitMs = 1; ; waitMs = Math.min(2 * waitMs, MAX_RETRY_MS)) {
      try {
        if (!this.#database.isOpen)
          throw new PortcullisError("runtime_closed", `The journal ${this.#path} was closed.`);
        this.#refuseGone();
        return run();
      } catch (error) {
        if (!isBusy(error) || monotonic() > deadline) throw storeError(error, this.#path);
      }
      await pause(waitMs * (0.5 + Math.random()));
    }
  }

  /** SQLite writes on into a file that was deleted, and what it writes is lost with the process. */
  #refuseGone(): void {
    const [journal, log] = this.#opened ?? [];
    const gone = this.#opened?.find(({ path, identity }) => identityOf(path) !== identity);
    if (gone === undefined) return;
    // This process alone still has what the deleted log holds, unless another one has begun a log in its place.
    if (gone !== journal && log && identityOf(log.path) === undefined)
      this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    throw new PortcullisError(
      "journal_gone",
      `${gone === journal ? `The journal ${this.#path}` : `${gone.path}, which belongs to the journal,`} was deleted, moved or replaced while it was open. Nothing was written. ${gone === journal ? "Put it back, or open" : "Open"} the journal again.`,
    );
  }

  #transaction<Value>(run: () => Value): Value {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const value = run();
      this.#database.exec("COMMIT");
      return value;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
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
