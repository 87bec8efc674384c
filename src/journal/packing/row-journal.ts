import { driverChanged, executionExists, headMoved } from "../journal-error.ts";
import { isGivenBack } from "../given-back.ts";
import type { Appended, AppendOptions, ExecutionSummary, Head, Lease, ListOptions, ReadOptions } from "../journal.ts";
import type { Listeners } from "../listeners.ts";
import type { Header, JournalRecord } from "../record.ts";
import { executionProblems, type JournalProblem, type PruneOptions, type StoredJournal } from "../stored-journal.ts";
import { type PackedRecord, packRecords } from "./large-texts.ts";

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

/** A store with a row for each execution: all that is done to one is a change of its row. */
export abstract class RowJournal<Options extends AppendOptions> implements StoredJournal {
  protected abstract readonly listeners: Listeners<Appended>;
  /** Resolves with the head after the change; undefined if the execution, its head or its driver is another one. */
  protected abstract make(change: Change, options?: Options): Promise<Head | undefined>;
  abstract read(execution: string, options?: ReadOptions): AsyncGenerator<JournalRecord>;
  abstract list(options?: ListOptions): AsyncGenerator<ExecutionSummary>;
  abstract find(execution: string): Promise<ExecutionSummary>;
  abstract prune(options: PruneOptions): Promise<number>;

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
