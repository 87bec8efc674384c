import type { DatabaseSync } from "node:sqlite";
import { PortcullisError } from "../../errors.ts";
import {
  oneOf,
  type OptionsOf,
  readOptions,
  required,
  text,
  wholeNumber,
  wholeNumberOrInfinity,
  withDefault,
} from "../../options/options.ts";
import type { AppendOptions, ExecutionSummary, Head, Journal, Lease, ListOptions, ReadOptions } from "../journal.ts";
import { driverChanged, executionExists, executionUnknown, headMoved } from "../journal-error.ts";
import type { Header, JournalRecord } from "../record.ts";
import { openDatabase } from "./database.ts";
import { type PackedRecord, packRecord, type StoredText, unpackRecord } from "./large-texts.ts";
import { executionRow, type ExecutionRow, prepareStatements, type Statements } from "./statements.ts";
import { Transactions } from "./transactions.ts";

const SQLITE_JOURNAL_RULES = {
  /**
   * File of the journal, or `":memory:"`. It is created with mode 0600 if it does not exist; SQLite keeps two more files
   * beside it.
   */
  path: required(text({ expected: "the path of a file" })),
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

/** Which executions `prune` deletes. */
export interface PruneOptions {
  /** Executions that started before this time, in milliseconds since 1970. */
  readonly before: number;
  /** Also executions without an outcome, unless a driver holds them. */
  readonly open?: boolean;
}

/** A damaged place of a journal. */
export interface JournalProblem {
  /** Missing if the file itself is damaged. */
  readonly execution?: string;
  readonly problem: string;
}

export interface SqliteJournal extends Journal, Disposable {
  /** Deletes executions with their texts, and resolves with their number. A program of an open conversation stays. */
  prune(options: PruneOptions): Promise<number>;
  /** Reads everything, and yields what is damaged: the file, records, their order, hashes of texts. */
  check(): AsyncIterable<JournalProblem>;
}

/** Number of records read at a time, and their length after which no further one is, in UTF-16 code units. */
const PAGE = 64;
const PAGE_LENGTH = 4 * 1024 * 1024;

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

  constructor(database: DatabaseSync, transactions: Transactions) {
    this.#database = database;
    this.#transactions = transactions;
    this.#statements = prepareStatements(database);
    // A database without a file has no location.
    this.isDurable = database.location() !== null;
  }

  async create(header: Header, lease?: Lease): Promise<Head> {
    const { insertExecution } = this.#statements;
    const packed = await packAll([header]);
    return this.#transactions.write(true, () => {
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
      return 1;
    });
  }

  async append(
    execution: string,
    expected: Head,
    records: readonly JournalRecord[],
    { safe = false }: AppendOptions = {},
  ): Promise<Head> {
    const packed = await packAll(records);
    return this.#transactions.write(safe, () => {
      const row = this.#get(execution);
      if (row.head !== expected) throw headMoved(execution, row.head, expected);
      this.#insert(row.number, expected, packed);
      const ended = row.ended === 1 || records.some(({ type }) => type === "outcome") ? 1 : 0;
      const claim = records.findLast((record) => record.type === "claim");
      const driver = claim ? claim.driver : row.driver;
      const leasedUntil = claim ? claim.at + claim.leaseMs : row.leased_until;
      this.#statements.moveHead.run(expected + records.length, ended, driver, leasedUntil, row.number);
      return expected + records.length;
    });
  }

  async *read(execution: string, { from = 0 }: ReadOptions = {}): AsyncGenerator<JournalRecord> {
    // Loaded on demand: loading the schema library takes as long as running a program.
    const { parseRecord } = await import("../parse-records.ts");
    const { number, head } = await this.#transactions.locked(() => this.#get(execution));
    for (let position = from; position < head;) {
      const page = await this.#transactions.locked(() => this.#readPage(number, position, head));
      for (const row of page) {
        if (row.position !== position) break;
        yield this.#parse(execution, row.record, position, parseRecord);
        position += 1;
      }
      if (page.length === 0 || page.at(-1)?.position !== position - 1)
        throw new PortcullisError(
          "journal_corrupt",
          `The journal is damaged: record ${position} of execution ${JSON.stringify(execution)} is missing. Restore its file from a backup.`,
        );
    }
  }

  async *list({ open, tenant, before }: ListOptions = {}): AsyncGenerator<ExecutionSummary> {
    for (let below = Number.MAX_SAFE_INTEGER; ;) {
      const rows = await this.#transactions.locked(() =>
        this.#statements.listExecutions.all({
          below,
          ended: open === undefined ? null : Number(!open),
          tenant: tenant ?? null,
          before: before ?? null,
        }),
      );
      for (const row of rows) yield summaryOf(executionRow(row));
      const last = rows.at(-1);
      if (!last) return;
      below = Number(last.number);
    }
  }

  find(execution: string): Promise<ExecutionSummary> {
    return this.#transactions.locked(() => summaryOf(this.#get(execution)));
  }

  renew(execution: string, lease: Lease): Promise<Head> {
    return this.#transactions.write(false, () => {
      const { number, head, driver } = this.#get(execution);
      if (driver !== lease.driver) throw driverChanged(execution, driver ?? undefined, lease);
      this.#statements.setLease.run(lease.until, number);
      return head;
    });
  }

  async prune({ before, open = false }: PruneOptions): Promise<number> {
    let deleted = 0;
    for (;;) {
      const numbers = await this.#transactions.write(false, () => {
        const page = this.#statements.findOld.all({ before, open: Number(open), now: Date.now() });
        for (const { number } of page) {
          for (const statement of this.#statements.deleteExecution) statement.run(Number(number));
        }
        return page.length;
      });
      if (numbers === 0) break;
      deleted += numbers;
    }
    await this.#transactions.write(false, () => this.#statements.deleteUnused.run());
    await this.#transactions.locked(() => this.#database.exec("PRAGMA incremental_vacuum"));
    return deleted;
  }

  async *check(): AsyncGenerator<JournalProblem> {
    const found = await this.#transactions.locked(() => this.#database.prepare("PRAGMA integrity_check(20)").all());
    for (const { integrity_check: problem } of found) if (problem !== "ok") yield { problem: String(problem) };
    try {
      for await (const summary of this.list()) {
        const problem = await this.#problemOf(summary);
        if (problem !== undefined) yield { execution: summary.execution, problem };
      }
    } catch (error) {
      // An entry of the list cannot be read. Those after it are not looked at.
      if (!PortcullisError.is(error) || error.code !== "journal_corrupt") throw error;
      yield { problem: error.message };
    }
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }

  async #problemOf({ execution, kind, tenant, startedAt, ended }: ExecutionSummary): Promise<string | undefined> {
    let position = 0;
    let outcomes = 0;
    try {
      for await (const record of this.read(execution)) {
        if ((record.type === "header") !== (position === 0)) return `record ${position} is a ${record.type}`;
        if (record.type === "header") {
          const isSame = record.execution === execution && record.kind === kind && record.tenant === tenant;
          if (!isSame || record.startedAt !== startedAt) return "its header does not match its entry in the list";
        }
        if (record.type === "outcome") outcomes += 1;
        position += 1;
      }
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
    if (outcomes > 1) return `it has ${outcomes} outcomes`;
    return outcomes === Number(ended) ? undefined : "its list entry and its records disagree on whether it has ended";
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

  /** The next records, at least one if there is one. */
  #readPage(number: number, position: number, head: Head): Record<string, unknown>[] {
    const page: Record<string, unknown>[] = [];
    let length = 0;
    for (const row of this.#statements.readRecords.iterate(number, position, Math.min(head, position + PAGE))) {
      page.push(row);
      length += typeof row.record === "string" ? row.record.length : 0;
      if (length > PAGE_LENGTH) break;
    }
    return page;
  }

  /** Names the execution in the errors about its records. */
  #parse(
    execution: string,
    record: unknown,
    position: number,
    parse: (value: unknown, index: number) => JournalRecord,
  ): JournalRecord {
    try {
      return parse(this.#unpack(record), position);
    } catch (error) {
      if (!PortcullisError.is(error)) throw error;
      throw new PortcullisError(error.code, `Execution ${JSON.stringify(execution)}: ${error.message}`, {
        cause: error,
      });
    }
  }

  #unpack(record: unknown): unknown {
    if (typeof record !== "string")
      throw new PortcullisError(
        "journal_corrupt",
        "The journal is damaged: a record is not text, or is too large. Restore its file from a backup.",
      );
    try {
      return unpackRecord(
        record,
        (sha256) => this.#statements.findText.get(sha256) as unknown as StoredText | undefined,
      );
    } catch (error) {
      if (PortcullisError.is(error)) throw error;
      throw new PortcullisError(
        "journal_corrupt",
        "The journal is damaged: a record is not JSON. Restore its file from a backup.",
        { cause: error },
      );
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

/** The records as they are stored. Before the transaction, because the file is locked meanwhile. */
async function packAll(records: readonly JournalRecord[]): Promise<PackedRecord[]> {
  const packed: PackedRecord[] = [];
  for (const record of records) {
    // A record that is not an object would be stored as text that no reader accepts.
    if (typeof record !== "object" || record === null) throw new TypeError("A record of a journal is an object.");
    const one = packRecord(record);
    packed.push(one instanceof Promise ? await one : one);
  }
  return packed;
}

function summaryOf({
  id,
  kind,
  tenant,
  started_at,
  head,
  ended,
  driver,
  leased_until,
}: ExecutionRow): ExecutionSummary {
  return {
    execution: id,
    kind,
    tenant,
    startedAt: started_at,
    records: head,
    ended: ended === 1,
    ...(driver === null ? {} : { lease: { driver, until: leased_until ?? 0 } }),
  };
}
