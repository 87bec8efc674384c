import { PortcullisError } from "../errors.ts";
import type { ExecutionSummary, Journal } from "../journal/journal.ts";
import { drivenHere } from "./driven-here.ts";
import type { Execution } from "./execute.ts";
import { readPast } from "./past-execution.ts";
import { isSuspect } from "./poison.ts";
import type { RecoveredExecution } from "./recover-options.ts";
import { takeUp } from "./resume.ts";
import type { Scope } from "./scope.ts";
import { waitingOf } from "./waiting.ts";

/** An execution that could not be taken up. */
export interface Unrecovered extends RecoveredExecution {
  /** Usually a `PortcullisError`, like `journal_invalid`, `tools_changed` or `sandbox_unavailable`. */
  readonly error: Error;
}

export interface RecoverWork {
  readonly journal: Journal;
  /** Takes up no further execution once it is aborted. */
  readonly signal: AbortSignal;
  /** Number of executions that are taken up at once. */
  readonly concurrency: number;
  /** Runs work in the scope of an execution. */
  readonly run: (execution: RecoveredExecution, work: (scope: Scope) => Promise<Execution>) => Promise<Execution>;
}

/** An execution that may be what its drivers died of. */
const SUSPECT = Symbol("suspect");

/**
 * Takes up every program's execution that has no outcome, that no driver holds, and that does not only wait. Yields each
 * when it has ended or waits, or with the error if it could not be taken up. Those that their drivers may have died of
 * come last, one after the other: if this host dies too, it counts for one of them. Rejects if the journal cannot be listed, and
 * with the signal's reason. Executions that are under way when the iteration is left go on.
 */
export async function* recover(work: RecoverWork): AsyncGenerator<Execution | Unrecovered> {
  const { journal, signal, concurrency } = work;
  const underWay = new Set<Promise<void>>();
  const done: (Execution | Unrecovered)[] = [];
  const suspects: ExecutionSummary[] = [];
  const begin = (summary: ExecutionSummary) => {
    const one = recoverOne(work, summary, false).then((recovered) => {
      underWay.delete(one);
      if (recovered === SUSPECT) suspects.push(summary);
      else if (recovered) done.push(recovered);
    });
    underWay.add(one);
  };
  for await (const summary of journal.list({ open: true })) {
    signal.throwIfAborted();
    begin(summary);
    if (underWay.size >= concurrency) await Promise.race(underWay);
    yield* done.splice(0);
  }
  while (underWay.size > 0) {
    await Promise.race(underWay);
    yield* done.splice(0);
  }
  for (const suspect of suspects) {
    signal.throwIfAborted();
    const recovered = await recoverOne(work, suspect, true);
    if (recovered && recovered !== SUSPECT) yield recovered;
  }
}

/** Undefined for an execution that is not to be taken up. Never rejects: one execution must not end the recovery of others. */
async function recoverOne(
  { journal, run }: RecoverWork,
  { execution, kind, tenant, lease }: ExecutionSummary,
  takesSuspects: boolean,
): Promise<Execution | Unrecovered | typeof SUSPECT | undefined> {
  const isDriven = (lease !== undefined && lease.until > Date.now()) || drivenHere(journal, execution) !== undefined;
  if (kind !== "program" || isDriven) return undefined;
  try {
    const past = await readPast(journal.read(execution));
    if (past.outcome || waitingOf(past.state)) return undefined;
    if (!takesSuspects && isSuspect(past.state)) return SUSPECT;
    return await run({ execution, tenant }, (scope) => takeUp(scope, execution, past, {}));
  } catch (error) {
    if (PortcullisError.is(error) && TAKEN.has(error.code)) return undefined;
    return { execution, tenant, error: error instanceof Error ? error : new Error(String(error), { cause: error }) };
  }
}

/** Codes of errors that mean that another process has taken the execution up first, or has deleted it. */
const TAKEN: ReadonlySet<string> = new Set(["head_moved", "execution_driven", "execution_unknown"]);
