import { isGivenBack, WrappedJournal } from "../journal/packing/index.ts";
import { type ExecutionId, PortcullisError } from "../base/index.ts";
import type { AppendOptions, Head, Lease } from "../journal/journal.ts";
import type { Header, JournalRecord } from "../journal/record.ts";
import { drivenHere } from "../executions/driven.ts";
import type { ChangeOptions, PostgresJournal } from "./postgres/postgres-journal.ts";
import { FleetStore, type Wake } from "./fleet-store.ts";
import type { PgBossQueue } from "./queue/pg-boss-queue.ts";

/** A worker, as the journal of its process sees it. */
export interface DriverWatch {
  /** Records of a driver of this process are about to be written. Returns how many of them, from the first, may be. */
  readonly onWriting: (execution: ExecutionId, records: readonly JournalRecord[]) => number;
  readonly onWritten: (execution: ExecutionId, records: readonly JournalRecord[]) => void;
  /** Whether the worker looks at the execution again when its driver has ended. */
  readonly isHeld: (execution: ExecutionId) => boolean;
}

/**
 * The journal of a fleet: the journal of all its processes, which wakes workers. Three things wake one, and the wake of
 * the first two is in their transaction:
 *
 *   a header without a lease         submitted: any worker takes it up
 *   a decision or a client's result  written by another process than the driver
 *   a lease that is given back       the driver has ended, and may not have read what came last
 *
 * A claim ends the wake that led to it.
 */
export class FleetJournal extends WrappedJournal<PostgresJournal> {
  readonly workers = new Set<DriverWatch>();
  /** What the fleet notes beside the records. */
  readonly rows: FleetStore;
  readonly #queue: PgBossQueue;

  constructor(store: PostgresJournal, queue: PgBossQueue) {
    super(store);
    this.rows = new FleetStore(store);
    this.#queue = queue;
  }

  override async create(header: Header, lease?: Lease): Promise<Head> {
    if (lease) return this.store.create(header, lease);
    const { execution, tenant } = header;
    return this.store.create(header, undefined, this.#waking({ execution, tenant, isNew: true }));
  }

  override async append(
    execution: ExecutionId,
    expected: Head,
    records: readonly JournalRecord[],
    options?: AppendOptions,
  ): Promise<Head> {
    const write = async (own?: ChangeOptions) => {
      const counts = [...this.workers].map((worker) => worker.onWriting(execution, records));
      const may = Math.min(records.length, ...counts);
      const written = may < records.length ? records.slice(0, may) : records;
      const head = may === 0 && records.length > 0 ? 0 : await this.store.append(execution, expected, written, own);
      for (const worker of this.workers) worker.onWritten(execution, written);
      if (may < records.length) throw handoverError();
      return head;
    };
    // What a driver of this process decides itself, or is told by this process, it knows. So does one that claims.
    const isKnown = drivenHere(this.store, execution) || records.some(({ type }) => type === "claim");
    if (isKnown || !records.some(isSaid)) return write(options);
    const { tenant } = await this.store.find(execution);
    return write({ ...options, ...this.#waking({ execution, tenant }) });
  }

  override async renew(execution: ExecutionId, lease: Lease): Promise<Head> {
    const head = await this.store.renew(execution, lease);
    const isHeld = [...this.workers].some((worker) => worker.isHeld(execution));
    if (isGivenBack(lease) && !isHeld) {
      const { tenant } = await this.store.find(execution);
      await this.#queue.wake([{ execution, tenant }]);
    }
    return head;
  }

  #waking(wake: Wake): ChangeOptions {
    return { within: (executeSql) => this.#queue.wake([wake], executeSql) };
  }
}

function isSaid({ type }: JournalRecord): boolean {
  return type === "decision" || type === "result";
}

/** The error with which a driver stops, and leaves its execution to another worker. */
export function handoverError(): PortcullisError {
  return new PortcullisError("runtime_suspended", "The worker ends. Another worker continues the execution.");
}
