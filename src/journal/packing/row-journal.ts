import { readOptions, sumOf } from "../../base/index.ts";
import { driverChanged, executionExists, executionUnknown, headMoved, journalDamaged } from "../journal-error.ts";
import { isGivenBack } from "../given-back.ts";
import type { Appended, AppendOptions, ExecutionSummary, Head, Lease, ListOptions, ReadOptions } from "../journal.ts";
import type { Listeners } from "../listeners.ts";
import type { Header, JournalRecord } from "../record.ts";
import {
  executionProblems,
  type JournalProblem,
  PRUNE_RULES,
  type PruneOptions,
  type StoredJournal,
} from "../stored-journal.ts";
import { type PackedRecord, packRecords, type StoredText } from "./large-texts.ts";
import { PAGE, readStoredRecords, type StoredRecord } from "./stored-records.ts";

/** What is done to one execution: it is made, appended to, or its lease is set. Each is done whole or not at all. */
export interface Change {
  readonly execution: string;
  /** The head that it must have: 0 for one that is made, undefined if its driver must be that of `lease` in place of that. */
  readonly expected: Head | undefined;
  readonly records: readonly PackedRecord[];
  readonly ends: boolean;
  /** The lease that it has from then on; it stays as it was if this is missing. */
  readonly lease?: Lease | undefined;
  /** Of an execution that is made. */
  readonly header?: Header;
}

export type Row = Record<string, unknown>;

export interface FoundExecution<Key = unknown> {
  /** Key of the execution's records. */
  readonly number: Key;
  readonly summary: ExecutionSummary;
}

/** One record of a page. Its text is undefined if the page has no room for it. */
export interface PageRow {
  readonly position: Head;
  readonly bytes: number;
  readonly record: unknown;
}

/** Reads what a store has. */
export interface RowReader<Key> {
  /** The executions of a list that come after a row of it, the latest first. Undefined for an entry that cannot be read. */
  list(
    options: ListOptions,
    after: Row | undefined,
  ): Promise<{ readonly row: Row; readonly summary: ExecutionSummary | undefined }[]>;
  find(execution: string): Promise<FoundExecution<Key> | undefined>;
  /** An execution, and its first page of at most so many records from a position on if it was read with it. */
  open(
    execution: string,
    from: Head,
    count: number,
  ): Promise<{ readonly found: FoundExecution<Key>; readonly page?: readonly PageRow[] } | undefined>;
  /** The next records from this position on, as many as a page has room for, and the size of the next one. */
  page(number: Key, from: Head, end: Head): Promise<readonly PageRow[]>;
  record(number: Key, position: Head): Promise<unknown>;
  sizesOf(tenant: string, hashes: readonly string[]): Promise<ReadonlyMap<string, number>>;
  text(tenant: string, sha256: Buffer): Promise<StoredText | undefined>;
}

/** A store with a row for each execution: all that is done to one is a change of its row. */
export abstract class RowJournal<Options extends AppendOptions, Key> implements StoredJournal {
  protected abstract readonly listeners: Listeners<Appended>;
  protected abstract readonly rows: RowReader<Key>;
  /** Resolves with the head after the change; undefined if the execution, its head or its driver is another one. */
  protected abstract make(change: Change, options?: Options): Promise<Head | undefined>;
  /** Deletes some old executions. Resolves with their number. */
  protected abstract deletePage(before: number, open: boolean): Promise<number>;
  /** Deletes the texts that no execution has any more. */
  protected abstract deleteUnused(): Promise<void>;

  async create(header: Header, lease?: Lease, options?: Options): Promise<Head> {
    const { execution } = header;
    const records = await packRecords([header]);
    const head = await this.#change({ execution, expected: 0, records, ends: false, lease, header }, options);
    if (head === undefined) throw executionExists(execution);
    return head;
  }

  async append(execution: string, expected: Head, records: readonly JournalRecord[], options?: Options): Promise<Head> {
    const packed = await packRecords(records);
    const claim = records.findLast((record) => record.type === "claim");
    const lease = claim && { driver: claim.driver, until: claim.at + claim.leaseMs };
    const ends = records.some(({ type }) => type === "outcome");
    // Any other number is no head.
    const isHead = Number.isSafeInteger(expected) && expected > 0 && expected < 2 ** 31;
    const head = isHead
      ? await this.#change({ execution, expected, records: packed, ends, lease }, options)
      : undefined;
    if (head === undefined) throw headMoved(execution, (await this.find(execution)).records, expected);
    return head;
  }

  async renew(execution: string, lease: Lease): Promise<Head> {
    const head = await this.#change({ execution, expected: undefined, records: [], ends: false, lease });
    if (head === undefined) throw driverChanged(execution, (await this.find(execution)).lease?.driver, lease);
    return head;
  }

  async find(execution: string): Promise<ExecutionSummary> {
    return ((await this.rows.find(execution)) ?? unknown(execution)).summary;
  }

  async *list(options: ListOptions = {}): AsyncGenerator<ExecutionSummary> {
    for (let after: Row | undefined; ;) {
      const page = await this.rows.list(options, after);
      for (const { summary } of page) if (summary) yield summary;
      after = page.at(-1)?.row;
      if (!after) return;
    }
  }

  async prune(options: PruneOptions): Promise<number> {
    const { before, open } = readOptions("prune", options, PRUNE_RULES);
    let deleted = 0;
    for (let page = -1; page !== 0; deleted += page) page = await this.deletePage(before, open);
    await this.deleteUnused();
    return deleted;
  }

  async *read(
    execution: string,
    { from = 0, count = Infinity, hold = () => Promise.resolve(), itemBytes }: ReadOptions = {},
  ): AsyncGenerator<JournalRecord> {
    const { rows } = this;
    await hold(PAGE.bytes * PAGE.copies);
    const { found, page } = (await rows.open(execution, from, count)) ?? unknown(execution);
    const { tenant, records: head } = found.summary;
    yield* readStoredRecords(execution, this.pages(found, from, Math.min(head, from + count), hold, page), {
      hold,
      itemBytes,
      sizesOf: (hashes) => rows.sizesOf(tenant, hashes),
      find: (sha256) => rows.text(tenant, sha256),
    });
  }

  /** The texts of records, page by page. `pageBytes` is what their page holds meanwhile. */
  protected async *pages(
    { number, summary: { execution } }: FoundExecution<Key>,
    from: Head,
    end: Head,
    hold: (bytes: number) => Promise<void>,
    firstPage?: readonly PageRow[],
  ): AsyncGenerator<StoredRecord> {
    let nextPage = firstPage;
    for (let position = from; position < end;) {
      if (!nextPage) await hold(PAGE.bytes * PAGE.copies);
      const page = nextPage ?? (await this.rows.page(number, position, end));
      nextPage = undefined;
      const pageBytes = sumOf(page, ({ record, bytes }) => (record === undefined ? 0 : bytes)) * PAGE.copies;
      const [first] = page;
      if (first?.position !== position) {
        // Another process may have deleted the execution while it was read.
        await this.find(execution);
        throw journalDamaged(`record ${position} of execution ${JSON.stringify(execution)} is missing`);
      }
      if (first.record === undefined) {
        const bytes = first.bytes * PAGE.copies;
        await hold(bytes);
        yield { text: await this.rows.record(number, position), position, pageBytes: bytes };
        position += 1;
        continue;
      }
      for (const { position: at, record } of page) {
        if (record === undefined || at !== position) break;
        yield { text: record, position, pageBytes };
        position += 1;
      }
    }
  }

  onAppend(listener: (appended: Appended) => void): Disposable {
    return this.listeners.add(listener);
  }

  check(): AsyncGenerator<JournalProblem> {
    return executionProblems(this);
  }

  async #change(change: Change, options?: Options): Promise<Head | undefined> {
    const { execution, records, ends, lease } = change;
    const head = await this.make(change, options);
    if (head !== undefined && records.length > 0) this.listeners.tell({ execution, head, ended: ends });
    else if (head !== undefined && lease && isGivenBack(lease)) this.listeners.tell({ execution, head, left: true });
    return head;
  }
}

function unknown(execution: string): never {
  throw executionUnknown(execution);
}
