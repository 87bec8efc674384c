import type { ExecutionId } from "../journal/execution-id.ts";
import type { Journal } from "../journal/journal.ts";
import type { Execution } from "./execute.ts";
import type { TrackedLog } from "./tracked-log.ts";

/** An execution that this process drives. */
export interface DrivenHere {
  readonly log: TrackedLog;
  readonly ended: Promise<Execution>;
}

const driven = new WeakMap<Journal, Map<ExecutionId, DrivenHere>>();

/** The execution, if this process drives it. */
export function drivenHere(journal: Journal, execution: ExecutionId): DrivenHere | undefined {
  return driven.get(journal)?.get(execution);
}

/** Registers an execution until it is no longer driven. */
export async function whileDriven(journal: Journal, log: TrackedLog, ended: Promise<Execution>): Promise<Execution> {
  const { execution } = log;
  const here = driven.get(journal) ?? new Map<ExecutionId, DrivenHere>();
  driven.set(journal, here);
  here.set(execution, { log, ended });
  try {
    return await ended;
  } finally {
    here.delete(execution);
  }
}
