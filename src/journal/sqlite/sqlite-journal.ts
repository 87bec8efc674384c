import {
  cancel,
  every,
  now,
  oneOf,
  type OptionsOf,
  readOptions,
  required,
  type Timer,
  wholeNumber,
  wholeNumberOrInfinity,
  withDefault,
  words,
} from "../../base/index.ts";
import type { DatabaseSync } from "node:sqlite";
import { Listeners } from "../listeners.ts";
import type { Appended, AppendOptions, Head } from "../journal.ts";
import { listedOf, summaryOf } from "../packing/execution-row.ts";
import type { PackedRecord, StoredText } from "../packing/large-texts.ts";
import { type Change, type PageRow, type Row, RowJournal, type RowReader } from "../packing/row-journal.ts";
import { PAGE } from "../packing/stored-records.ts";
import type { JournalProblem, StoredJournal } from "../stored-journal.ts";
import { openDatabase } from "./database.ts";
import { prepareStatements, type Statements } from "./statements.ts";
import { type Transactions, transactionsIn } from "./transactions.ts";

export const SQLITE_JOURNAL_RULES = {
  /**
   * File of the journal, or `":memory:"`. It is created with mode 0600 if it does not exist; SQLite keeps two more files
   * beside it.
   */
  path: required(words("the path of a file")),
  /**
   * What a loss of power may cost. `"full"` (default): nothing that was appended. `"relaxed"`: the last turns, except
   * those before a call that changes something. No setting loses anything when a process dies.
   */
  durability: withDefault(oneOf(["full", "relaxed"]), "full"),
  /** Size that the file may have, in bytes; unlimited by default. A larger append rejects with `journal_full`. */
  maxBytes: wholeNumberOrInfinity({ min: 1024 * 1024, default: Infinity }),
  /** How long to wait for another process that keeps the file locked, in milliseconds; 10 seconds by default. */
  lockTimeoutMs: wholeNumber({ min: 0, max: 2 ** 31 - 1, default: 10_000 }),
};

export type SqliteJournalOptions = OptionsOf<typeof SQLITE_JOURNAL_RULES>;

export interface SqliteJournal extends StoredJournal, Disposable {}

/**
 * A journal in a file, by SQLite. Several processes may use the same file. Throws `option_invalid`, `journal_version`,
 * `journal_corrupt`, `journal_read_only` or `journal_locked` if the file cannot be used. Dispose of it to close the file.
 */
export function createSqliteJournal(options: SqliteJournalOptions): SqliteJournal {
  const { path, durability, lockTimeoutMs, maxBytes } = readOptions(
    "createSqliteJournal",
    options,
    SQLITE_JOURNAL_RULES,
  );
  const isRelaxed = durability === "relaxed";
  const database = openDatabase(path, { synchronous: isRelaxed ? "NORMAL" : "FULL", maxBytes });
  return new FileJournal(database, transactionsIn(database, path, isRelaxed, lockTimeoutMs));
}

class FileJournal extends RowJournal<AppendOptions, number> implements SqliteJournal {
  readonly isDurable: boolean;
  readonly #database: DatabaseSync;
  readonly #transactions: Transactions;
  readonly #statements: Statements;
  protected readonly listeners: Listeners<Appended>;
  protected readonly rows: RowReader<number>;

  constructor(database: DatabaseSync, transactions: Transactions) {
    super();
    this.#database = database;
    this.#transactions = transactions;
    this.#statements = prepareStatements(database);
    this.rows = readerOf(transactions, this.#statements);
    this.listeners = listenForOthers(database);
    // A database without a file has no location.
    this.isDurable = database.location() !== null;
  }

  protected make(
    { execution, expected = BY_DRIVER, records, ends, lease, header }: Change,
    { safe = false }: AppendOptions = {},
  ): Promise<Head | undefined> {
    const { insertExecution, changeExecution } = this.#statements;
    const [driver, until] = [lease?.driver ?? null, lease?.until ?? null];
    // A lease ends by itself: no disk is waited for.
    const needed = expected === BY_DRIVER ? "NORMAL" : header || safe ? "FULL" : undefined;
    return this.#transactions.write(() => {
      const row = header
        ? insertExecution.get(
            execution,
            header.kind,
            header.tenant,
            header.parent?.execution ?? null,
            header.startedAt,
            driver,
            until,
          )
        : changeExecution.get({ execution, expected, more: records.length, ends: Number(ends), driver, until });
      if (!row) return undefined;
      this.#insert(Number(row["number"]), expected, records);
      return Number(row["head"]);
    }, needed);
  }

  protected deletePage(before: number, open: boolean): Promise<number> {
    return this.#transactions.write(() => {
      const page = this.#statements.findOld.all({ before, open: Number(open), now: now() });
      for (const { number } of page) {
        for (const statement of this.#statements.deleteExecution) statement.run(Number(number));
      }
      return page.length;
    });
  }

  protected async deleteUnused(): Promise<void> {
    await this.#transactions.write(() => this.#statements.deleteUnused.run());
    await this.#transactions.locked(() => this.#database.exec("PRAGMA incremental_vacuum"));
  }

  override async *check(): AsyncGenerator<JournalProblem> {
    const found = await this.#transactions.locked(() => this.#database.prepare("PRAGMA integrity_check(20)").all());
    for (const { integrity_check: problem } of found) if (problem !== "ok") yield { problem: String(problem) };
    yield* super.check();
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #insert(number: number, position: number, records: readonly PackedRecord[]): void {
    const { insertRecord, insertText, insertUse } = this.#statements;
    for (const [index, { text, longTexts }] of records.entries()) {
      for (const { sha256, bytes, data } of longTexts) {
        insertText.run(sha256, bytes, data);
        insertUse.run(number, sha256);
      }
      insertRecord.run(number, position + index, text);
    }
  }
}

/** In place of a head: the driver must be the one of the lease. */
const BY_DRIVER = -1;

function readerOf(
  transactions: Transactions,
  { findExecution, listExecutions, readPage, readRecord, findSize, findText }: Statements,
): RowReader<number> {
  const find = (execution: string) =>
    transactions.locked(() => {
      const row = findExecution.get(execution);
      return row && { number: Number(row["number"]), summary: summaryOf(row) };
    });
  return {
    list: ({ open, tenant = null, before = Infinity, onDamaged }, after) =>
      transactions.locked(() => {
        // Of a damaged entry it may be more than a number of JavaScript holds, and the others come after it.
        const at = after ? BigInt(String(after["at"])) : before;
        const ended = open === undefined ? null : Number(!open);
        const rows: Row[] = listExecutions.all({ at, below: Number(after?.["number"] ?? 0), ended, tenant });
        return rows.map((row) => ({ row, summary: listedOf(() => summaryOf(row), onDamaged) }));
      }),
    find,
    async open(execution) {
      const found = await find(execution);
      return found && { found };
    },
    page: (number, from, end) =>
      transactions.locked(() => {
        const page: PageRow[] = [];
        let sum = 0;
        for (const row of readPage.iterate(number, from, Math.min(end, from + PAGE.records))) {
          const { position, bytes, record } = row as unknown as PageRow;
          sum += bytes;
          page.push({ position, bytes, record: sum <= PAGE.bytes ? record : undefined });
          if (sum > PAGE.bytes) break;
        }
        return page;
      }),
    record: (number, position) => transactions.locked(() => readRecord.get(number, position)?.["record"]),
    sizesOf: (_tenant, hashes) =>
      transactions.locked(() => {
        const sizes = hashes.map((sha256) => [sha256, findSize.get(Buffer.from(sha256, "hex"))?.["bytes"]] as const);
        return new Map(sizes.filter((size): size is [string, number] => typeof size[1] === "number"));
      }),
    text: (_tenant, sha256) => transactions.locked(() => findText.get(sha256) as unknown as StoredText | undefined),
  };
}

/** How often a file is looked at for appends of other connections, in milliseconds. It takes some microseconds. */
const LOOK_MS = 50;

/**
 * Listeners of a file that other connections write too, of this process or others. SQLite tells no one: it counts their
 * commits, and what they appended to is not known. The file is looked at only while there are listeners.
 */
function listenForOthers(database: DatabaseSync): Listeners<Appended> {
  let looking: Timer | undefined;
  let version: unknown;
  const versionNow = (): unknown => {
    try {
      return database.prepare("PRAGMA data_version").get()?.["data_version"];
    } catch {
      // The file is locked: the next look tells.
      return version;
    }
  };
  const look = () => {
    if (!database.isOpen) return cancel(looking);
    const now = versionNow();
    if (now === version) return;
    version = now;
    listeners.tell({});
  };
  const listeners = new Listeners<Appended>(
    () => {
      version = database.isOpen ? versionNow() : undefined;
      looking = every(LOOK_MS, look);
      looking.unref();
    },
    () => cancel(looking),
  );
  return listeners;
}
