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
import { isGivenBack } from "../given-back.ts";
import type { DatabaseSync } from "node:sqlite";
import { Listeners } from "../listeners.ts";
import type { Appended, AppendOptions, ExecutionSummary, Head, Lease, ListOptions, ReadOptions } from "../journal.ts";
import { driverChanged, executionExists, executionUnknown, headMoved, journalDamaged } from "../journal-error.ts";
import type { Header, JournalRecord } from "../record.ts";
import { type ExecutionRow, executionRow, listedOf, summaryOf } from "../packing/execution-row.ts";
import { type PackedRecord, packRecords, type StoredText } from "../packing/large-texts.ts";
import { PAGE, recordsOf, type StoredRecord } from "../packing/stored-records.ts";
import {
  executionProblems,
  type JournalProblem,
  PRUNE_RULES,
  type PruneOptions,
  type StoredJournal,
} from "../stored-journal.ts";
import { openDatabase } from "./database.ts";
import { prepareStatements, type Statements } from "./statements.ts";
import { Transactions } from "./transactions.ts";

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
  maxBytes: wholeNumberOrInfinity({ min: 1024 * 1024, default: Number.POSITIVE_INFINITY }),
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
  return new FileJournal(database, new Transactions(database, path, isRelaxed, lockTimeoutMs));
}

class FileJournal implements SqliteJournal {
  readonly isDurable: boolean;
  readonly #database: DatabaseSync;
  readonly #transactions: Transactions;
  readonly #statements: Statements;
  readonly #listeners: Listeners<Appended>;

  constructor(database: DatabaseSync, transactions: Transactions) {
    this.#database = database;
    this.#transactions = transactions;
    this.#statements = prepareStatements(database);
    this.#listeners = listenForOthers(database);
    // A database without a file has no location.
    this.isDurable = database.location() !== null;
  }

  async create(header: Header, lease?: Lease): Promise<Head> {
    const { insertExecution } = this.#statements;
    const packed = await packRecords([header]);
    await this.#transactions.write(() => {
      const { execution, kind, tenant, startedAt, parent } = header;
      if (this.#find(execution)) throw executionExists(execution);
      const { lastInsertRowid } = insertExecution.run(
        execution,
        kind,
        tenant,
        parent?.execution ?? null,
        startedAt,
        lease?.driver ?? null,
        lease?.until ?? null,
      );
      this.#insert(Number(lastInsertRowid), 0, packed);
    }, "FULL");
    this.#listeners.tell({ execution: header.execution, head: 1 });
    return 1;
  }

  async append(
    execution: string,
    expected: Head,
    records: readonly JournalRecord[],
    options: AppendOptions = {},
  ): Promise<Head> {
    const packed = await packRecords(records);
    const head = expected + records.length;
    await this.#transactions.write(
      () => {
        const row = this.#get(execution);
        if (row.head !== expected) throw headMoved(execution, row.head, expected);
        this.#insert(row.number, expected, packed);
        const ended = row.ended === 1 || records.some(({ type }) => type === "outcome") ? 1 : 0;
        const claim = records.findLast((record) => record.type === "claim");
        const driver = claim ? claim.driver : row.driver;
        const leasedUntil = claim ? claim.at + claim.leaseMs : row.leased_until;
        this.#statements.moveHead.run(head, ended, driver, leasedUntil, row.number);
      },
      options.safe ? "FULL" : undefined,
    );
    if (records.length > 0) this.#listeners.tell({ execution, head });
    return head;
  }

  async *read(
    execution: string,
    { from = 0, count = Number.POSITIVE_INFINITY, hold = () => Promise.resolve(), itemBytes }: ReadOptions = {},
  ): AsyncGenerator<JournalRecord> {
    const { findSize, findText } = this.#statements;
    const { number, head } = await this.#transactions.locked(() => this.#get(execution));
    yield* recordsOf(execution, this.#stored(execution, number, from, Math.min(head, from + count), hold), {
      hold,
      itemBytes,
      sizesOf: (hashes) =>
        this.#transactions.locked(() => {
          const sizes = hashes.map((sha256) => [sha256, findSize.get(Buffer.from(sha256, "hex"))?.["bytes"]] as const);
          return new Map(sizes.filter((size): size is [string, number] => typeof size[1] === "number"));
        }),
      find: (sha256) => this.#transactions.locked(() => findText.get(sha256) as unknown as StoredText | undefined),
    });
  }

  async *#stored(
    execution: string,
    number: number,
    from: Head,
    end: Head,
    hold: (bytes: number) => Promise<void>,
  ): AsyncGenerator<StoredRecord> {
    const { readSizes, readRecords } = this.#statements;
    for (let position = from; position < end;) {
      const sizes = await this.#transactions.locked(() =>
        readSizes.all(number, position, Math.min(end, position + PAGE.records)),
      );
      const page = pageOf(sizes, position);
      const pageBytes = page.bytes * PAGE.copies;
      await hold(pageBytes);
      const rows = await this.#transactions.locked(() => readRecords.all(number, position, position + page.records));
      for (const { position: at, record: text } of rows) {
        if (at !== position) break;
        yield { text, position, pageBytes };
        position += 1;
      }
      if (rows.length === 0 || rows.at(-1)?.["position"] !== position - 1)
        throw journalDamaged(`record ${position} of execution ${JSON.stringify(execution)} is missing`);
    }
  }

  async *list({ open, tenant, before, onDamaged }: ListOptions = {}): AsyncGenerator<ExecutionSummary> {
    let at: number | bigint = before ?? Number.POSITIVE_INFINITY;
    for (let below = 0; ;) {
      const rows = await this.#transactions.locked(() =>
        this.#statements.listExecutions.all({
          at,
          below,
          ended: open === undefined ? null : Number(!open),
          tenant: tenant ?? null,
        }),
      );
      for (const row of rows) {
        const summary = listedOf(() => summaryOf(row), onDamaged);
        if (summary) yield summary;
      }
      const last = rows.at(-1);
      if (!last) return;
      below = Number(last.number);
      // Of a damaged entry it may be more than a number of JavaScript holds, and the others come after it.
      at = BigInt(String(last.at));
    }
  }

  find(execution: string): Promise<ExecutionSummary> {
    return this.#transactions.locked(() => summaryOf(this.#get(execution)));
  }

  async renew(execution: string, lease: Lease): Promise<Head> {
    // A lease ends by itself: no disk is waited for.
    const renewed = await this.#transactions.write(() => {
      const { number, head, driver } = this.#get(execution);
      if (driver !== lease.driver) throw driverChanged(execution, driver ?? undefined, lease);
      this.#statements.setLease.run(lease.until, number);
      return head;
    }, "NORMAL");
    if (isGivenBack(lease)) this.#listeners.tell({ execution, head: renewed, left: true });
    return renewed;
  }

  onAppend(listener: (appended: Appended) => void): Disposable {
    return this.#listeners.add(listener);
  }

  async prune(options: PruneOptions): Promise<number> {
    const { before, open } = readOptions("prune", options, PRUNE_RULES);
    let deleted = 0;
    for (;;) {
      const numbers = await this.#transactions.write(() => {
        const page = this.#statements.findOld.all({ before, open: Number(open), now: now() });
        for (const { number } of page) {
          for (const statement of this.#statements.deleteExecution) statement.run(Number(number));
        }
        return page.length;
      });
      if (numbers === 0) break;
      deleted += numbers;
    }
    await this.#transactions.write(() => this.#statements.deleteUnused.run());
    await this.#transactions.locked(() => this.#database.exec("PRAGMA incremental_vacuum"));
    return deleted;
  }

  async *check(): AsyncGenerator<JournalProblem> {
    const found = await this.#transactions.locked(() => this.#database.prepare("PRAGMA integrity_check(20)").all());
    for (const { integrity_check: problem } of found) if (problem !== "ok") yield { problem: String(problem) };
    yield* executionProblems(this);
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

  #find(execution: string): ExecutionRow | undefined {
    const row = this.#statements.findExecution.get(execution);
    return row && executionRow(row);
  }

  #get(execution: string): ExecutionRow {
    const row = this.#find(execution);
    if (!row) throw executionUnknown(execution);
    return row;
  }
}

/** How many of the next records are read together, and their bytes. At least one record, if there is any. */
function pageOf(sizes: readonly Readonly<Record<string, unknown>>[], from: number) {
  let bytes = 0;
  for (const [index, size] of sizes.entries()) {
    const own = Number(size["bytes"]);
    if (size["position"] !== from + index || (index > 0 && bytes + own > PAGE.bytes)) return { records: index, bytes };
    bytes += own;
  }
  return { records: sizes.length, bytes };
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
