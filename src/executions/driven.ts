import { type ExecutionId, now, PortcullisError } from "../base/index.ts";
import { storeOf } from "../journal/redaction/redacting-journal.ts";
import type { ExecutionSummary, Head, Journal, Lease, WorkerNeeds } from "../journal/journal.ts";

export interface DrivenHere<Ended> {
  readonly log: DrivenLog;
  readonly ended: Promise<Ended>;
}

export interface DrivenLog {
  readonly execution: ExecutionId;
  /** Reads what others have appended, if there are records below `head` that are not its own. */
  readonly catchUp: (head?: Head) => Promise<void>;
  /** JSON text of the input of an open call of a program, also where the journal has less of it. */
  readonly inputOf?: (call: number) => string | undefined;
}

const driven = new WeakMap<Journal, Map<ExecutionId, DrivenHere<unknown>>>();

/** The execution, if this process drives it. `Ended` is what its kind ends with. */
export function drivenHere<Ended>(journal: Journal, execution: ExecutionId): DrivenHere<Ended> | undefined {
  return driven.get(storeOf(journal))?.get(execution) as DrivenHere<Ended> | undefined;
}

export function isDriven(journal: Journal, { execution, ended, lease }: ExecutionSummary): boolean {
  if (ended) return false;
  return leasedUntil(lease) !== undefined || drivenHere(journal, execution) !== undefined;
}

/** What it needs of a worker that takes it up; undefined while a driver has it. */
export function neededBy({ ended, needs }: ExecutionSummary, driven: boolean): WorkerNeeds | undefined {
  return ended || driven ? undefined : needs;
}

/** When a lease ends that a driver holds, in milliseconds since 1970; undefined if it has ended. */
export function leasedUntil(lease: Lease | undefined): number | undefined {
  return lease && lease.until > now() ? lease.until : undefined;
}

/** Rejects with `execution_driven` while a driver holds the lease. */
export async function refuseDriven(journal: Journal, execution: ExecutionId): Promise<void> {
  const until = leasedUntil((await journal.find(execution)).lease);
  if (until !== undefined)
    throw executionDriven(
      execution,
      `by another process, at least until ${new Date(until).toISOString()}: if that process is gone, the execution can be resumed then`,
    );
}

export function executionDriven(execution: ExecutionId, by: string): PortcullisError {
  return new PortcullisError(
    "execution_driven",
    `Execution ${JSON.stringify(execution)} is driven ${by}. Decisions reach it by \`decide\`.`,
  );
}

export async function whileDriven<Ended>(journal: Journal, log: DrivenLog, ended: Promise<Ended>): Promise<Ended> {
  const { execution } = log;
  const store = storeOf(journal);
  const here = driven.get(store) ?? new Map<ExecutionId, DrivenHere<unknown>>();
  driven.set(store, here);
  here.set(execution, { log, ended });
  try {
    return await ended;
  } finally {
    here.delete(execution);
  }
}
