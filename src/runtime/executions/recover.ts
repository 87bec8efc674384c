/*
 * Takes up the programs and conversations that dead hosts have left. A journal comes in; each execution goes out once it
 * ends or waits, or with the error for which it could not be taken up.
 */
import { type ExecutionId, now, PortcullisError } from "../../base/index.ts";
import { childExecution } from "../../conversations/calls/child-execution.ts";
import {
  type PastConversation,
  readPastConversation,
  standingOfConversation,
} from "../../conversations/from-journal/past-conversation.ts";
import { findIfKnown } from "../../journal/find-if-known.ts";
import type { ExecutionSummary, Head, Journal } from "../../journal/journal.ts";
import type { Header } from "../../journal/record.ts";
import type { Model } from "../../models/model.ts";
import type { UnansweredCall } from "../../executions/from-journal/execution-state.ts";
import { expiryOf } from "../../executions/from-journal/call-history.ts";
import { openCalls, standingOf } from "../../executions/from-journal/standing.ts";
import type { RecoveredConversation, RecoveredExecution } from "./recover-options.ts";
import type { AgentReport } from "../../conversations/agent-report.ts";
import type { AgentScope } from "../../conversations/agent-scope.ts";
import { cancelConversation, resumeAgent } from "../../conversations/resume-agent.ts";
import { readHeader, readList, readRecords } from "../../journal/reading/read-records.ts";
import { isDriven } from "../../executions/driven.ts";
import type { Execution } from "../../executions/execution.ts";
import { refuseOtherProtocol } from "../../executions/from-journal/changed-since.ts";
import { pastFold } from "../../executions/from-journal/past-execution.ts";
import { endAsCancelled, mayKillItsDriver } from "../../executions/drive/ending/end-without-running.ts";
import type { ResultSchema } from "../../executions/drive/ending/result-schema.ts";
import { resumeRead } from "../../executions/resume.ts";

/** Why a recovery has left an execution open, and how the next recovery sees without reading it that this still holds. */
export type OpenReason =
  | {
      /** Only a person's decisions or clients' results bring it further. */
      readonly to: "outside";
      readonly records: Head;
      /** Its open programs, each with its number of records. */
      readonly programs: ReadonlyMap<ExecutionId, Head>;
      /** When the first of its calls has waited for too long, in milliseconds since 1970. */
      readonly until: number;
    }
  /** It is taken up with the execution that has started it. */
  | { readonly to: "caller"; readonly caller: ExecutionId }
  /** The host does not have its model. */
  | { readonly to: "model"; readonly records: Head; readonly model: string; readonly task: string };

export type OpenExecutions = Map<ExecutionId, OpenReason>;

/** Longer tasks are read again: what is kept of an execution stays small. */
const KEPT_TASK_CHARACTERS = 2000;

/** Notes why an execution stays open. Without a reason, or with one that would take much memory, it is read again. */
function note(reasons: OpenExecutions | undefined, execution: ExecutionId, why: OpenReason | undefined): void {
  if (why && !(why.to === "model" && why.task.length > KEPT_TASK_CHARACTERS)) reasons?.set(execution, why);
  else reasons?.delete(execution);
}

/** Whether an execution is still open for the reason that an earlier recovery has found. */
async function isStillLeft(
  {
    journal,
    reasons,
    model,
  }: {
    readonly journal: Journal;
    readonly reasons?: OpenExecutions;
    readonly model: (conversation: RecoveredConversation) => Model | undefined;
  },
  { execution, tenant, records }: ExecutionSummary,
): Promise<boolean> {
  const reason = reasons?.get(execution);
  if (reason === undefined) return false;
  if (reason.to === "caller") return isOpen(journal, reason.caller);
  if (reason.records !== records) return false;
  if (reason.to === "model") return model({ execution, tenant, model: reason.model, task: reason.task }) === undefined;
  if (now() >= reason.until) return false;
  for (const [program, head] of reason.programs)
    if ((await findIfKnown(journal, program))?.records !== head) return false;
  return true;
}

/** Whether the journal holds the execution, and it has no outcome. */
async function isOpen(journal: Journal, execution: ExecutionId): Promise<boolean> {
  return (await findIfKnown(journal, execution))?.ended === false;
}

/**
 * For a conversation that waits for the outside. Undefined if a driver has one of its programs: the end of the driver's
 * lease may change how the conversation stands, and leaves no record.
 */
function waitingConversation({ header, records, open, rest }: PastConversation): OpenReason | undefined {
  const programs = new Map<ExecutionId, Head>();
  let until = Infinity;
  for (const call of open.values()) {
    const { id, program, driven } = call;
    if (driven) return undefined;
    if (program) programs.set(childExecution(header.execution, id), program.state.records);
    const expiry = program ? firstExpiry(program.state.header, openCalls(program.state)) : expiryOf(header, call);
    if (!rest) until = Math.min(until, expiry);
  }
  return { to: "outside", records, programs, until };
}

function firstExpiry(header: Pick<Header, "limits"> | undefined, calls: readonly UnansweredCall[]): number {
  return calls.reduce((first, call) => Math.min(first, expiryOf(header, call)), Infinity);
}

/** An execution that could not be taken up. */
export interface Unrecovered extends RecoveredExecution {
  /** Usually a `PortcullisError`, like `journal_invalid`, `tools_changed` or `sandbox_unavailable`. */
  readonly error: Error;
}

export interface TakeUpWork {
  readonly journal: Journal;
  /** Leaves programs alone whose guests spoke another protocol with their hosts: other hosts may speak it. */
  readonly needsSameProtocol?: boolean;
  /** The model of a conversation; undefined leaves it open. */
  readonly model: (conversation: RecoveredConversation) => Model | undefined;
  readonly fallbacks?: (conversation: RecoveredConversation) => readonly Model[] | undefined;
  /** The schema of what a program returns, if the program began with a schema. */
  readonly result: (execution: RecoveredExecution) => ResultSchema | undefined;
  readonly run: (
    execution: RecoveredExecution & { readonly model?: Model },
    work: (scope: AgentScope) => Promise<Recovered>,
  ) => Promise<Recovered>;
}

export interface RecoverWork extends TakeUpWork {
  /** Takes up no further execution once it is aborted. */
  readonly signal: AbortSignal;
  /** What earlier recoveries have left open: read again once it has changed, has waited for too long, or has a model. */
  readonly reasons?: OpenExecutions;
  readonly concurrency: number;
  readonly only: (execution: RecoveredExecution) => boolean;
}

export type Recovered = Execution | AgentReport;

/** What became of an execution that was to be taken up. */
export type TakeUpResult =
  /** It was driven here, until it ended or waits. */
  | { readonly type: "driven"; readonly recovered: Recovered }
  /** It could not be taken up, or not be driven on. */
  | { readonly type: "failed"; readonly error: Error }
  /** It has ended, another driver has it, or the journal does not hold it. */
  | { readonly type: "others" }
  /** It stays open as it is. Without `why` it was not found out for how long. */
  | { readonly type: "left"; readonly why: OpenReason | undefined }
  /** It may have killed its drivers, and was not taken up. */
  | { readonly type: "suspect" };

/**
 * Takes up each execution and conversation that has no outcome, is held by no driver and does not merely wait. Yields each
 * when it has ended or waits, or with the error for which it could not be taken up. Executions that may have killed their
 * drivers come last, one after the other: if this host dies too, its death counts for a single execution. Rejects if the
 * journal cannot be listed, and with the signal's reason. If the iteration is left, executions that are under way go on.
 */
export async function* recover(work: RecoverWork): AsyncGenerator<Recovered | Unrecovered> {
  const { journal, signal, concurrency, reasons, only } = work;
  const open = new Set<ExecutionId>();
  const underWay = new Set<Promise<void>>();
  const done: (Recovered | Unrecovered)[] = [];
  const suspects: ExecutionSummary[] = [];
  const begin = (summary: ExecutionSummary) => {
    const one = recoverOne(work, summary, false).then((result) => {
      underWay.delete(one);
      if (result.type === "suspect") suspects.push(summary);
      else done.push(...yielded(summary, result));
    });
    underWay.add(one);
  };
  for await (const summary of readList(journal, { open: true })) {
    signal.throwIfAborted();
    open.add(summary.execution);
    if (!only({ execution: summary.execution, tenant: summary.tenant })) continue;
    begin(summary);
    if (underWay.size >= concurrency) await Promise.race(underWay);
    yield* done.splice(0);
  }
  for (const execution of reasons?.keys() ?? []) if (!open.has(execution)) reasons?.delete(execution);
  // The last executions may end while the results of others are taken.
  while (underWay.size + done.length > 0) {
    if (done.length === 0) await Promise.race(underWay);
    yield* done.splice(0);
  }
  for (const suspect of suspects) {
    signal.throwIfAborted();
    yield* yielded(suspect, await recoverOne(work, suspect, true));
  }
}

function yielded(
  { execution, tenant }: RecoveredExecution,
  result: TakeUpResult,
): readonly (Recovered | Unrecovered)[] {
  if (result.type === "driven") return [result.recovered];
  return result.type === "failed" ? [{ execution, tenant, error: result.error }] : [];
}

/** Never rejects: one execution must not end the recovery of others. */
async function recoverOne(work: RecoverWork, summary: ExecutionSummary, takesSuspects: boolean): Promise<TakeUpResult> {
  const { reasons, journal } = work;
  try {
    if (!isDriven(journal, summary) && (await isStillLeft(work, summary))) return { type: "left", why: undefined };
  } catch (error) {
    return failedOrTaken(error);
  }
  const result = await takeUpOne(work, summary, takesSuspects);
  if (result.type === "left") note(reasons, summary.execution, result.why);
  return result;
}

/**
 * Takes an execution up if it has no outcome, is held by no driver and does not merely wait, and drives it until it ends
 * or waits. Never rejects.
 */
export async function takeUpOne(
  work: TakeUpWork,
  summary: ExecutionSummary,
  takesSuspects: boolean,
): Promise<TakeUpResult> {
  const { execution, kind, tenant, ended } = summary;
  if (ended || kind === "call" || isDriven(work.journal, summary)) return { type: "others" };
  const one = { execution, tenant };
  try {
    return await (kind === "program" ? takeUpProgram(work, one, takesSuspects) : takeUpConversation(work, summary));
  } catch (error) {
    return failedOrTaken(error);
  }
}

function failedOrTaken(error: unknown): TakeUpResult {
  if (PortcullisError.is(error) && TAKEN.has(error.code)) return { type: "others" };
  return { type: "failed", error: error instanceof Error ? error : new Error(String(error), { cause: error }) };
}

async function takeUpProgram(
  { journal, needsSameProtocol = false, result: resultFor, run }: TakeUpWork,
  one: RecoveredExecution,
  takesSuspects: boolean,
): Promise<TakeUpResult> {
  const { execution } = one;
  const reading = readRecords(journal, execution, one);
  const fold = pastFold();
  for await (const record of reading) {
    // A program in a conversation is taken up with it.
    if (record.type === "header" && record.parent && (await isOpen(journal, record.parent.execution)))
      return leave({ to: "caller", caller: record.parent.execution });
    await reading.lane.work(fold.take(record));
  }
  const past = await reading.lane.work(fold.past());
  const { header } = past.state;
  if (past.outcome) return { type: "others" };
  if (header?.parent) return driven(run(one, (scope) => endAsCancelled(scope, past)));
  const { records } = past.state;
  if (standingOf(past.state, false).state === "waiting")
    return leave({ to: "outside", records, programs: new Map(), until: firstExpiry(header, openCalls(past.state)) });
  if (needsSameProtocol && past.state.turns > 0) refuseOtherProtocol(header);
  if (!takesSuspects && mayKillItsDriver(past.state)) return { type: "suspect" };
  const hasResult = header?.kind === "program" && header.result !== undefined;
  const result = hasResult ? resultFor(one) : undefined;
  return driven(run(one, (scope) => resumeRead(scope, execution, past, { result, joins: false, isFree: true })));
}

async function takeUpConversation(
  { journal, model: modelFor, fallbacks: fallbacksFor, run }: TakeUpWork,
  { execution, tenant, records }: ExecutionSummary,
): Promise<TakeUpResult> {
  const one = { execution, tenant };
  // Its client goes on with it, or it expires: the client alone has its tools, and sets what each of its requests may take.
  if ((await readHeader(journal, execution, one))?.owner?.surface)
    return leave({ to: "outside", records, programs: new Map(), until: Infinity });
  const past = await readPastConversation(journal, execution, one.tenant);
  const { header } = past;
  if (past.outcome) return { type: "others" };
  // The conversation of an agent that is a tool is taken up with its caller.
  if (header.parent && (await isOpen(journal, header.parent.execution)))
    return leave({ to: "caller", caller: header.parent.execution });
  if (header.parent) return driven(run(one, (scope) => cancelConversation(scope, past)));
  if (standingOfConversation(past).state === "waiting") return leave(waitingConversation(past));
  const about = { model: past.answering.model, task: header.task };
  const conversation = { ...one, ...about };
  const model = modelFor(conversation);
  if (!model) return leave({ to: "model", records: past.records, ...about });
  const fallbacks = fallbacksFor?.(conversation);
  return driven(run({ ...one, model }, (scope) => resumeAgent(scope, execution, { model, fallbacks, joins: false })));
}

function leave(why: OpenReason | undefined): TakeUpResult {
  return { type: "left", why };
}

async function driven(running: Promise<Recovered>): Promise<TakeUpResult> {
  return { type: "driven", recovered: await running };
}

/** Codes of errors that mean that another process has taken the execution up first, or has deleted it. */
const TAKEN: ReadonlySet<string> = new Set(["head_moved", "execution_driven", "execution_unknown"]);
