import type { ExecutionId } from "./execution-id.ts";
import type { Header, JournalRecord } from "./record.ts";

/** Number of records appended so far, which is the index of the next one. */
export type Head = number;

export interface ExecutionSummary {
  readonly execution: ExecutionId;
  readonly kind: Header["kind"];
  readonly tenant: string;
  readonly startedAt: number;
  readonly records: Head;
  readonly ended: boolean;
  /** Missing if the execution was created without a lease and was never claimed. */
  readonly lease?: Lease;
}

/** The driver that holds an execution, and until when, in milliseconds since 1970, unless it renews its lease. */
export interface Lease {
  readonly driver: string;
  readonly until: number;
}

export interface AppendOptions {
  /** The records must survive a loss of power, even if the store trades that for speed: a call that changes something follows. */
  readonly safe?: boolean;
}

export interface ReadOptions {
  /** Index of the first record to read; 0 by default. */
  readonly from?: Head;
  /** Number of records that are wanted; all by default. A store should read no more than that, but may. */
  readonly count?: number;
  /**
   * Called before each step of a reading, with all bytes of memory that the reading then holds; 0 if records are in
   * this process's memory anyway. The step begins once the promise resolves. If a store ignores this, its records are
   * read one at a time and count once they are there.
   */
  readonly hold?: (bytes: number) => Promise<void>;
  /**
   * Bytes of the items of streams that are wanted; all by default. The event of a later batch may have `[]` in place of
   * its items, with their count and bytes in its first line. A store may ignore this.
   */
  readonly itemBytes?: number;
}

export interface ListOptions {
  /** Only executions without an outcome (`true`), or with one (`false`). */
  readonly open?: boolean;
  readonly tenant?: string;
  /** Only executions that started before this time, in milliseconds since 1970. */
  readonly before?: number;
}

/**
 * A store of executions. Each is an append-only list of records. Appending is a compare-and-swap on the head: it is the
 * only mechanism that prevents two drivers from appending to the same execution.
 */
export interface Journal {
  /**
   * Whether what was appended is kept outside of this process's memory. Then executions hold only what is open, and the
   * default of their limit `totalBytes` is 1 GiB in place of 48 MiB. False by default.
   */
  readonly isDurable?: boolean;
  /** Creates an execution with its header as the first record. Rejects with `execution_exists` if the id is taken. */
  create(header: Header, lease?: Lease): Promise<Head>;
  /**
   * Appends all records or none, and returns the new head. A `claim` among them gives the lease to its driver. Rejects
   * with `head_moved` if `expected` is not the head.
   */
  append(
    execution: ExecutionId,
    expected: Head,
    records: readonly JournalRecord[],
    options?: AppendOptions,
  ): Promise<Head>;
  /** The records of an execution in order, as they are at the time of the call. Its first step rejects with `execution_unknown`. */
  read(execution: ExecutionId, options?: ReadOptions): AsyncIterable<JournalRecord>;
  /** One execution of the list. Rejects with `execution_unknown`. */
  find(execution: ExecutionId): Promise<ExecutionSummary>;
  /** Executions, the latest first. */
  list(options?: ListOptions): AsyncIterable<ExecutionSummary>;
  /**
   * Extends the lease of the driver that holds an execution, or gives it back with a time in the past. Resolves with
   * the head. Rejects with `execution_unknown`, and with `head_moved` if another driver has claimed it since.
   */
  renew(execution: ExecutionId, lease: Lease): Promise<Head>;
}
