import type { ErrorCode, ExecutionId, PortcullisError } from "../base/index.ts";
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
  /** Characters of its texts, and of what it has started and is open, if this process's memory holds them. */
  readonly heldLength?: number;
  /** Missing if the execution was created without a lease and was never claimed. */
  readonly lease?: Lease;
  /** What it needs of a worker, if workers of a fleet that looked at it did not have that, and none has claimed it since. */
  readonly needs?: WorkerNeeds;
}

/** What an execution needs of the worker that takes it up. */
export interface WorkerNeeds {
  readonly what: "tools" | "sandbox" | "protocol" | "model";
  /** Names of the tools, the sandbox's name, the version of the guest's protocol, or the model's name. */
  readonly names: readonly string[];
}

/** The driver that holds an execution, and until when, in milliseconds since 1970, unless it renews its lease. */
export interface Lease {
  readonly driver: string;
  readonly until: number;
}

/** Runs a statement of SQL in the transaction of an append. `$1`, `$2` … stand for the values. */
export type ExecuteSql = (
  text: string,
  values?: readonly unknown[],
) => Promise<{ readonly rows: readonly Record<string, unknown>[] }>;

export interface AppendOptions {
  /** The records must survive a loss of power, even if the store trades that for speed: a call that changes something follows. */
  readonly safe?: boolean;
}

/** An execution that was created or appended to. */
export interface Appended {
  /**
   * Missing if others have appended and it is not known to what, or if notices may have been lost: look again at all
   * executions that are of interest.
   */
  readonly execution?: ExecutionId;
  /** The head after the append, if the execution is known. */
  readonly head?: Head;
  /** Set if the execution has ended then. A journal may leave it out. */
  readonly ended?: boolean;
  /** Set if its driver has given it back then: it has ended, waits, or goes on elsewhere. A journal may leave it out. */
  readonly left?: boolean;
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
  /** Told of each entry that cannot be read (`journal_corrupt`). The list goes on without it. */
  readonly onDamaged?: (error: PortcullisError) => void;
}

/** What was found out about a store. */
export interface JournalFinding {
  /** Name of one or two words. */
  readonly what: string;
  /** `weak`: it can be used, but a promise holds only in part. `missing`: it cannot be used. */
  readonly state: "good" | "weak" | "missing";
  readonly detail: string;
  /** Of what cannot be used: the code with which appends fail. */
  readonly code?: ErrorCode;
}

/**
 * A store of executions. Each is an append-only list of records. Appending is a compare-and-swap on the head: it is the
 * only mechanism that prevents two drivers from appending to the same execution.
 */
export interface Journal {
  /** The journal that this one wraps. */
  readonly store?: Journal;
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
  /** Executions, the latest first by the time at which each started, and of one time those that were created last. */
  list(options?: ListOptions): AsyncIterable<ExecutionSummary>;
  /**
   * Extends the lease of the driver that holds an execution, or gives it back with a time in the past. Resolves with
   * the head. Rejects with `execution_unknown`, and with `head_moved` if another driver has claimed it since.
   */
  renew(execution: ExecutionId, lease: Lease): Promise<Head>;
  /**
   * Tells a listener of each append and creation, also of other processes, soon after it. A notice is a hint to look:
   * several appends may be told as one, and one may be told twice. What the listener throws is an uncaught exception.
   * Dispose of what is returned to listen no more.
   */
  onAppend?(listener: (appended: Appended) => void): Disposable;
}
