import type { ExecutionId } from "./execution-id.ts";
import type { Header, JournalRecord } from "./record.ts";

/** Number of records appended so far: the place where the next one goes. */
export type Head = number;

export interface ExecutionSummary {
  readonly execution: ExecutionId;
  readonly tenant: string;
  readonly startedAt: number;
  readonly records: Head;
  readonly ended: boolean;
}

/**
 * A store of executions. Each is a list of records that only grows, and only at its end, by
 * a driver that knows where that is: appending is a compare-and-swap on the head, which alone keeps two drivers of one
 * execution apart.
 */
export interface Journal {
  /** Begins an execution with its header. Rejects with `execution_exists` where its id is taken. */
  create(header: Header): Promise<Head>;
  /** Appends records together or not at all, and returns the new head. Rejects with `head_moved` where `expected` is not the head. */
  append(execution: ExecutionId, expected: Head, records: readonly JournalRecord[]): Promise<Head>;
  /** All records of an execution. Rejects with `execution_unknown`. */
  read(execution: ExecutionId): Promise<readonly JournalRecord[]>;
  /** Executions, the latest first. */
  list(): AsyncIterable<ExecutionSummary>;
}
