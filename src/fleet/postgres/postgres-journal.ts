import { type Change, Listeners, RowJournal } from "../../journal/packing/index.ts";
import { randomUUID } from "node:crypto";
import { readOptions, ignore } from "../../base/index.ts";
import type { Appended, AppendOptions, Head, JournalFinding, Lease } from "../../journal/journal.ts";
import type { Header, JournalRecord } from "../../journal/record.ts";
import type { StoredJournal } from "../../journal/stored-journal.ts";
import type { NoticeListener, Within } from "./shown-types.ts";
import { ChangeQueue } from "./change-queue.ts";
import { Database, type DatabaseOptions } from "./connection/database.ts";
import { diagnoseDatabase } from "./connection/diagnose.ts";
import { readName } from "./tables/names.ts";
import { Notices } from "./connection/notices.ts";
import { POSTGRES_JOURNAL_RULES, type PostgresJournalOptions } from "./postgres-options.ts";
import { deletePage, deleteUnused } from "./prune.ts";
import { StoredRows } from "./stored-rows.ts";

export interface StatementOptions {
  /** The statement may be run again if the connection was lost while it ran, and it is not known whether it took effect. */
  readonly idempotent?: boolean;
}

export type ChangeOptions = AppendOptions & Within;

/** A journal in PostgreSQL, with access to its pool and its listening connection for tables of the package beside it. */
export interface PostgresJournal extends StoredJournal, AsyncDisposable {
  /** Schema of its tables. */
  readonly schema: string;
  create(header: Header, lease?: Lease, options?: ChangeOptions): Promise<Head>;
  append(execution: string, expected: Head, records: readonly JournalRecord[], options?: ChangeOptions): Promise<Head>;
  /**
   * Runs a statement on a connection of the pool; several statements, if there are no values, whose rows come together. Waits for a database that
   * cannot be reached, within a bound. Rejects with a `journal_…` error if the database cannot be used, and with
   * PostgreSQL's own error if it refuses the statement.
   */
  query(
    text: string,
    values?: readonly unknown[],
    options?: StatementOptions,
  ): Promise<{ readonly rows: readonly Record<string, unknown>[]; readonly rowCount: number }>;
  /**
   * Calls a listener with the payload of each notice (`NOTIFY`) of a channel, and with undefined after notices may have
   * been lost, and once it listens. All listeners of a journal share one connection. Dispose of what is returned to
   * listen no more.
   */
  onNotify(channel: string, listener: NoticeListener): Disposable;
  /** Looks once whether the database can be used, and how well; it does not wait for one that cannot be reached. Never rejects. */
  diagnose(): Promise<readonly JournalFinding[]>;
}

/**
 * A journal in PostgreSQL. Any number of processes may use the same database. The first use connects and makes the tables;
 * it rejects with `journal_unavailable`, `journal_read_only`, `journal_version` or `journal_corrupt` if the database cannot
 * be used. It needs the package `pg`. Throws `option_invalid`. Dispose of it to close its connections.
 */
export function createPostgresJournal(options: PostgresJournalOptions): PostgresJournal {
  return new DatabaseJournal(readOptions("createPostgresJournal", options, POSTGRES_JOURNAL_RULES));
}

class DatabaseJournal extends RowJournal<ChangeOptions, string> implements PostgresJournal {
  readonly isDurable = true;
  readonly schema: string;
  readonly #database: Database;
  protected readonly rows: StoredRows;
  readonly #queue: ChangeQueue;
  readonly #notices: Notices;
  protected readonly listeners: Listeners<Appended>;
  /** One for all who ask meanwhile: each takes a connection beside the pool. */
  #diagnosing: Promise<readonly JournalFinding[]> | undefined;

  constructor(options: DatabaseOptions) {
    super();
    this.schema = options.schema;
    const token = randomUUID();
    const channel = `${options.schema}_appended`;
    this.#database = new Database(options);
    this.rows = new StoredRows(this.#database);
    // Not all connections: reading goes on while changes wait for locks.
    const aloneAtOnce = Math.ceil(options.connections / 2);
    this.#queue = new ChangeQueue(this.#database, { aloneAtOnce, channel, token });
    this.#notices = new Notices(this.#database);
    let others: Disposable | undefined;
    this.listeners = new Listeners(
      () => (others = this.#notices.add(channel, (payload) => this.#takeNotice(payload, token))),
      () => others?.[Symbol.dispose](),
    );
  }

  onNotify(channel: string, listener: NoticeListener): Disposable {
    return this.#notices.add(channel, listener);
  }

  async query(text: string, values: readonly unknown[] = [], options: StatementOptions = {}) {
    const found = await this.#database.run(async (client) => {
      try {
        return await this.#database.queryOn(client, text, values);
      } catch (error) {
        // Several statements may have begun a transaction. A lost connection is given up anyway.
        if (values.length === 0) await client.query("ROLLBACK").catch(ignore);
        throw error;
      }
    }, options);
    // Several statements have a result each.
    const results = [found].flat();
    return { rows: results.flatMap(({ rows }) => rows), rowCount: results.at(-1)?.rowCount ?? 0 };
  }

  protected deletePage(before: number, open: boolean): Promise<number> {
    return deletePage(this.#database, before, open);
  }

  protected deleteUnused(): Promise<void> {
    return deleteUnused(this.#database);
  }

  diagnose(): Promise<readonly JournalFinding[]> {
    this.#diagnosing ??= diagnoseDatabase(this.#database).finally(() => {
      this.#diagnosing = undefined;
    });
    return this.#diagnosing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#notices.close();
    await this.#database.close();
  }

  protected async make(change: Change, { within }: ChangeOptions = {}): Promise<Head | undefined> {
    const { changed, mayBeDone } = await this.#queue.make({ ...change, within });
    if (changed || !mayBeDone || change.records.length === 0) return changed?.head;
    const { execution, expected = 0, records } = change;
    return (await this.#holds(execution, expected, records)) ? expected + records.length : undefined;
  }

  /** Whether the journal holds these records at this place: an append whose answer was lost was done. */
  async #holds(execution: string, from: Head, packed: readonly { readonly text: string }[]): Promise<boolean> {
    const found = await this.rows.find(execution);
    if (!found || found.summary.records < from + packed.length) return false;
    const pages = this.pages(found, from, from + packed.length, () => Promise.resolve());
    for await (const { text, position } of pages) if (text !== packed[position - from]?.text) return false;
    return true;
  }

  /**
   * A notice (`changeNotice`) has the token of the process that appended, the head with its mark, and the id. Those of this process
   * were told already.
   */
  #takeNotice(payload: string | undefined, ownToken: string): void {
    const [, token, head, mark, id] = /^(\S+) (\d+)([!-]?) (.*)$/s.exec(payload ?? "") ?? [];
    if (token === ownToken) return;
    if (id === undefined) return this.listeners.tell({});
    this.listeners.tell({ execution: readName(id), head: Number(head), ended: mark === "!", left: mark === "-" });
  }
}
