import type { ExecutionId } from "./execution-id.ts";
import type { Header, JournalRecord } from "./record.ts";

/** Number of records appended so far, which is the index of the next one. */
export type Head = number;

export interface ExecutionSummary {
  readonly execution: ExecutionId;
  readonly tenant: string;
  readonly startedAt: number;
  readonly records: Head;
  readonly ended: boolean;
}

/**
 * A store of executions. Each is an append-only list of records. Appending is a compare-and-swap on the head: it is the
 * only mechanism that prevents two drivers from appending to the same execution.
 */
export interface Journal {
  /** Creates an execution with its header as the first record. Rejects with `execution_exists` if the id is taken. */
  create(header: Header): Promise<Head>;
  /** Appends all records or none, and returns the new head. Rejects with `head_moved` if `expected` is not the head. */
  append(execution: ExecutionId, expected: Head, records: readonly JournalRecord[]): Promise<Head>;
  /** All records of an execution. Rejects with `execution_unknown`. */
  read(execution: ExecutionId): Promise<readonly JournalRecord[]>;
  /** All executions, the latest first. */
  list(): AsyncIterable<ExecutionSummary>;
}
