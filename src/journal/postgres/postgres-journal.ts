import type { ExecuteSql } from "../journal.ts";
import type { SqliteJournal } from "../sqlite/sqlite-journal.ts";

export interface QueryOptions {
  /** The statement may be run again if the connection was lost while it ran, and it is not known whether it took effect. */
  readonly idempotent?: boolean;
}

/** A journal in PostgreSQL, with access to its pool and its listening connection for tables of the package beside it. */
export interface PostgresJournal extends Omit<SqliteJournal, typeof Symbol.dispose>, AsyncDisposable {
  /**
   * Runs a statement on a connection of the pool; several statements, if there are no values. Waits for a database that
   * cannot be reached, within a bound. Rejects with a `journal_…` error if the database cannot be used, and with
   * PostgreSQL's own error if it refuses the statement.
   */
  query(
    text: string,
    values?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<{ readonly rows: readonly Record<string, unknown>[]; readonly rowCount: number }>;
  /** Runs statements in one transaction, which is undone if `run` rejects. `run` may be called again if the connection was lost. */
  transaction<Value>(run: (executeSql: ExecuteSql) => Promise<Value>): Promise<Value>;
  /**
   * Calls a listener with the payload of each notice (`NOTIFY`) of a channel, and with undefined after notices may have
   * been lost. All listeners of a journal share one connection. Dispose of what is returned to listen no more.
   */
  onNotify(channel: string, listener: (payload: string | undefined) => void): Disposable;
}
