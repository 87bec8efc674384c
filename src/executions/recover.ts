import type { AgentReport } from "../agent/agent-report.ts";
import type { AgentScope } from "../agent/agent-scope.ts";
import { isResting, readPastConversation, waitingOfConversation } from "../agent/past-conversation.ts";
import { cancelConversation, resumeAgent } from "../agent/resume-agent.ts";
import { findIfKnown } from "../journal/find-if-known.ts";
import type { Model } from "../models/model.ts";
import { PortcullisError } from "../errors.ts";
import type { ExecutionSummary, Journal } from "../journal/journal.ts";
import { cancelLeft } from "../programs/cancel-left.ts";
import { isDriven } from "../programs/driven-here.ts";
import type { Execution } from "../programs/execute.ts";
import { readPast } from "../programs/past-execution.ts";
import { isSuspect } from "../programs/poison.ts";
import type { RecoveredConversation, RecoveredExecution } from "./recover-options.ts";
import type { ResultSchema } from "../programs/result-schema.ts";
import { takeUp } from "../programs/resume.ts";
import { waitingOf } from "../programs/waiting.ts";

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
  /** The model of a conversation; undefined leaves it open. */
  readonly model: (conversation: RecoveredConversation) => Model | undefined;
  /** The schema of what a program returns that began with one. */
  readonly result: (execution: RecoveredExecution) => ResultSchema | undefined;
  /** Runs work in the scope of an execution. */
  readonly run: (
    execution: RecoveredExecution & { readonly model?: Model },
    work: (scope: AgentScope) => Promise<Recovered>,
  ) => Promise<Recovered>;
}

/** What has become of an execution or a conversation that was taken up. */
export type Recovered = Execution | AgentReport;

/** An execution that may be what its drivers died of. */
const SUSPECT = Symbol("suspect");

/**
 * Takes up every execution and conversation that has no outcome, that no driver holds, and that does not only wait. Yields each
 * when it has ended or waits, or with the error if it could not be taken up. Those that their drivers may have died of
 * come last, one after the other: if this host dies too, it counts for one of them. Rejects if the journal cannot be listed, and
 * with the signal's reason. Executions that are under way when the iteration is left go on.
 */
export async function* recover(work: RecoverWork): AsyncGenerator<Recovered | Unrecovered> {
  const { journal, signal, concurrency } = work;
  const underWay = new Set<Promise<void>>();
  const done: (Recovered | Unrecovered)[] = [];
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
  // The last of them may end while what others have come to is taken.
  while (underWay.size + done.length > 0) {
    if (done.length === 0) await Promise.race(underWay);
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
  work: RecoverWork,
  summary: ExecutionSummary,
  takesSuspects: boolean,
): Promise<Recovered | Unrecovered | typeof SUSPECT | undefined> {
  const { execution, kind, tenant } = summary;
  if (kind === "call" || isDriven(work.journal, summary)) return undefined;
  const one = { execution, tenant };
  try {
    return await (kind === "program" ? recoverProgram(work, one, takesSuspects) : recoverConversation(work, one));
  } catch (error) {
    if (PortcullisError.is(error) && TAKEN.has(error.code)) return undefined;
    return { ...one, error: error instanceof Error ? error : new Error(String(error), { cause: error }) };
  }
}

async function recoverProgram(
  { journal, result: resultFor, run }: RecoverWork,
  one: RecoveredExecution,
  takesSuspects: boolean,
): Promise<Recovered | typeof SUSPECT | undefined> {
  const { execution } = one;
  const past = await readPast(journal.read(execution));
  if (past.outcome) return undefined;
  const { header } = past.state;
  // A program in a conversation is taken up with it.
  if (header?.parent && (await findIfKnown(journal, header.parent.execution))?.ended === false) return undefined;
  if (header?.parent) return run(one, (scope) => cancelLeft(scope, execution, past));
  // One that cannot be replayed waits where it is driven. Without its driver it has ended.
  if (waitingOf(past.state) && past.state.unreplayable === undefined) return undefined;
  if (!takesSuspects && isSuspect(past.state)) return SUSPECT;
  const hasResult = header?.kind === "program" && header.result !== undefined;
  const result = hasResult ? resultFor(one) : undefined;
  return run(one, (scope) => takeUp(scope, execution, past, { result }));
}

async function recoverConversation(
  { journal, model: modelFor, run }: RecoverWork,
  one: RecoveredExecution,
): Promise<Recovered | undefined> {
  const { execution } = one;
  const past = await readPastConversation(journal, execution);
  const { header } = past;
  if (past.outcome) return undefined;
  // The conversation of an agent that is a tool is taken up with its caller.
  if (header.parent && (await findIfKnown(journal, header.parent.execution))?.ended === false) return undefined;
  if (header.parent) return run(one, (scope) => cancelConversation(scope, execution, past));
  if (isResting(past) || waitingOfConversation(past)) return undefined;
  const model = modelFor({ ...one, model: past.model, task: header.task });
  return model && run({ ...one, model }, (scope) => resumeAgent(scope, execution, { model }));
}
/** Codes of errors that mean that another process has taken the execution up first, or has deleted it. */
const TAKEN: ReadonlySet<string> = new Set(["head_moved", "execution_driven", "execution_unknown"]);
