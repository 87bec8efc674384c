import type { ExecutionId } from "../../journal/execution-id.ts";
import type { ExecuteSql } from "../../journal/journal.ts";

/** An execution that is to be taken up. */
export interface Wake {
  readonly execution: ExecutionId;
  readonly tenant: string;
  /** How long it is left alone first, in milliseconds. */
  readonly afterMs?: number;
  /** Whether the execution was submitted and no driver has claimed it. */
  readonly isNew?: boolean;
  /** How often it could not be driven since it was last driven. */
  readonly failures?: number;
}

/** A worker of a queue: asked whenever there may be wakes. */
export interface WakeTaker {
  /** How many wakes it takes now. */
  readonly room: () => number;
  /** Tenants of whose executions it takes none now. */
  readonly passedOver: () => Promise<readonly string[]>;
  /** Takes a wake. The queue forgets the wake when `done` is called, and hands it to another worker if this one dies before. */
  readonly take: (wake: Wake, done: () => void) => void;
  /** Told of each failure of the queue, which goes on. */
  readonly onError: (error: unknown) => void;
}

/** The wakes that a worker takes. Disposing resolves once it takes none. */
export interface Taking extends AsyncDisposable {
  /** The worker has room again. */
  readonly pull: () => void;
}

/** Number of wakes that wait, and since when the oldest of them could have been taken, by tenant. */
export interface QueuedWakes {
  readonly tenant: string;
  readonly wakes: number;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/**
 * Brings executions to workers. It only wakes: the journal alone says what is to be done and who may do it, so a wake
 * that is lost, or told twice, costs time and nothing else.
 */
export interface WakeQueue {
  /** Whether its wakes can be part of a transaction of the journal's database: `wake` is given `within` only then. */
  readonly joins?: boolean;
  /**
   * Adds wakes, in the transaction of `within` if it is given. An execution that is queued already keeps one wake, which
   * no worker may take before that transaction has committed.
   */
  wake(wakes: readonly Wake[], within?: ExecuteSql): Promise<void>;
  /** Of these executions, those that no wake names. A wake that was handed out more than `staleMs` ago names none. */
  unqueued(executions: readonly ExecutionId[], staleMs: number): Promise<readonly ExecutionId[]>;
  /** Hands wakes to a worker, until disposed. */
  work(taker: WakeTaker): Promise<Taking>;
  /** What waits, for the metrics. */
  queued(): Promise<readonly QueuedWakes[]>;
}
