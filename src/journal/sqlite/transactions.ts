import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { PortcullisError } from "../../errors.ts";
import { isBusy, storeError } from "./store-error.ts";

/** Maximum wait between two attempts to get the lock, in milliseconds. */
const MAX_RETRY_MS = 50;

/** Reads and writes a journal's file, which other processes may use at the same time. */
export class Transactions {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #isRelaxed: boolean;
  readonly #lockTimeoutMs: number;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #rollback: StatementSync;

  constructor(database: DatabaseSync, path: string, isRelaxed: boolean, lockTimeoutMs: number) {
    this.#database = database;
    this.#path = path;
    this.#isRelaxed = isRelaxed;
    this.#lockTimeoutMs = lockTimeoutMs;
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#commit = database.prepare("COMMIT");
    this.#rollback = database.prepare("ROLLBACK");
  }

  /** Runs a transaction. `safe` makes it survive a loss of power. */
  write<Value>(safe: boolean, run: () => Value): Promise<Value> {
    const raise = this.#isRelaxed && safe;
    return this.locked(() => {
      if (raise) this.#database.exec("PRAGMA synchronous = FULL");
      try {
        return this.#transaction(run);
      } finally {
        if (raise) this.#database.exec("PRAGMA synchronous = NORMAL");
      }
    });
  }

  /**
   * Runs `run`, and runs it again while another process keeps the file locked. Does not block the thread. Rejects after
   * `lockTimeoutMs`, and if the file is closed.
   */
  async locked<Value>(run: () => Value): Promise<Value> {
    const deadline = performance.now() + this.#lockTimeoutMs;
    for (let waitMs = 1; ; waitMs = Math.min(2 * waitMs, MAX_RETRY_MS)) {
      try {
        if (!this.#database.isOpen)
          throw new PortcullisError("runtime_closed", `The journal ${this.#path} was closed.`);
        return run();
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw storeError(error, this.#path);
      }
      await delay(waitMs * (0.5 + Math.random()));
    }
  }

  #transaction<Value>(run: () => Value): Value {
    this.#begin.run();
    try {
      const value = run();
      this.#commit.run();
      return value;
    } catch (error) {
      if (this.#database.isTransaction) this.#rollback.run();
      throw error;
    }
  }
}
