import type { ExecutionId } from "../journal/execution-id.ts";
import { storeOf } from "../redaction/redacting-journal.ts";
import type { ExecutionSummary, Journal } from "../journal/journal.ts";

/** An execution or a conversation that this process drives. */
export interface DrivenHere<Ended> {
  readonly log: DrivenLog;
  readonly ended: Promise<Ended>;
}

export interface DrivenLog {
  readonly execution: ExecutionId;
  readonly catchUp: () => Promise<void>;
}

const driven = new WeakMap<Journal, Map<ExecutionId, DrivenHere<unknown>>>();

/** The execution, if this process drives it. `Ended` is what its kind ends with. */
export function drivenHere<Ended>(journal: Journal, execution: ExecutionId): DrivenHere<Ended> | undefined {
  return driven.get(storeOf(journal))?.get(execution) as DrivenHere<Ended> | undefined;
}

/** Whether a driver has the execution, in this process or in another one. */
export function isDriven(journal: Journal, { execution, ended, lease }: ExecutionSummary): boolean {
  if (ended) return false;
  return (lease !== undefined && lease.until > Date.now()) || drivenHere(journal, execution) !== undefined;
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
