import {
  type ExecutionId,
  Lane,
  pick,
  plainFault,
  PortcullisError,
  readerFor,
  textOf,
  asUntrusted,
  after,
  cancel,
  monotonic,
  pause,
  untilAborted,
} from "../../base/index.ts";
import type { ExecutionSummary, Journal, ListOptions } from "../../journal/journal.ts";
import {
  BudgetSpent,
  NO_ITEMS,
  type ReadingBudget,
  readList,
  readRecords,
} from "../../journal/reading/read-records.ts";
import type { OutcomeRecord, ParentRef } from "../../journal/record.ts";
import { isDriven, neededBy, leasedUntil } from "../../executions/driven.ts";
import { endingHead } from "../../executions/from-journal/ending-head.ts";
import { applySliced, ExecutionState, type UnansweredCall } from "../../executions/from-journal/execution-state.ts";
import {
  endingOf,
  standingOfConversation,
  type PastConversation,
  readOwnConversation,
  readPastConversation,
} from "../../conversations/from-journal/past-conversation.ts";
import { copiedTurns, userMessages } from "../../conversations/from-journal/conversation-state.ts";
import type { Execution } from "../../executions/execution.ts";
import { findOwn, headerOf, readPast } from "../../executions/from-journal/past-execution.ts";
import { endedExecution, waitingExecution } from "../../executions/from-journal/recorded-execution.ts";
import { ListedRoom, standingOf } from "../../executions/from-journal/standing.ts";
import { limitsOf } from "../../executions/limits.ts";
import type { Scope } from "../../executions/scope.ts";
import { ArtifactSpace } from "../../journal/artifact-space.ts";
import type { Language } from "../../../bridge/frames.ts";
import type { ConversationStatus, ListedExecution } from "./listed-execution.ts";

/** Lists executions, the latest first. Reads the records of open executions, and the last record of others. */
export async function* listExecutions(journal: Journal, options?: ListOptions): AsyncGenerator<ListedExecution> {
  for await (const summary of readList(journal, options)) yield await listExecution(journal, summary);
}

/** An execution as it is listed. Reads its records if it is open and the budget allows that; beyond the budget it is `unread`. */
export function listExecution(
  journal: Journal,
  summary: ExecutionSummary,
  budget?: ReadingBudget,
): Promise<ListedExecution> {
  return listed(
    journal,
    summary,
    (driven) => readOpen(journal, summary, driven, budget),
    () => readEnd(journal, summary, budget),
  );
}

interface OpenFacts {
  readonly state: ListedExecution["state"];
  readonly calls?: readonly UnansweredCall[];
  readonly parent?: ParentRef | undefined;
}

async function listed(
  journal: Journal,
  summary: ExecutionSummary,
  open: (driven: boolean) => Promise<OpenFacts>,
  end: () => Promise<Pick<ListedExecution, "outcome" | "ms">>,
): Promise<ListedExecution> {
  const driven = isDriven(journal, summary);
  const about = { ...pick(summary, "execution", "kind", "tenant", "startedAt", "records"), driven };
  if (summary.ended) return { ...about, waitsFor: [], state: "ended", ...(await end()) };
  const { state, calls = [], parent } = await open(driven);
  const waitsFor = [...new Set(calls.map(({ tool }) => tool))];
  const needs = state === "running" ? neededBy(summary, driven) : undefined;
  return { ...about, waitsFor, state, needs, parent: parent?.execution };
}

/** An execution that was read, as it is listed. Its summary may be older than its records. */
function listRead(
  journal: Journal,
  summary: ExecutionSummary,
  { records, outcome }: { readonly records: number; readonly outcome: OutcomeRecord | undefined },
  open: () => Promise<OpenFacts>,
): Promise<ListedExecution> {
  const now = { ...summary, records, ended: outcome !== undefined };
  return listed(journal, now, open, async () => (outcome ? endFacts(now, outcome, new Lane(summary.tenant)) : {}));
}

async function readEnd(
  journal: Journal,
  summary: ExecutionSummary,
  budget?: ReadingBudget,
): Promise<Pick<ListedExecution, "outcome" | "ms">> {
  const { execution, tenant, records } = summary;
  const onLength = (length: number) => budget?.take(length);
  const read = readRecords(journal, execution, { tenant, from: records - 1, onLength });
  try {
    for await (const record of read) if (record.type === "outcome") return await endFacts(summary, record, read.lane);
    return {};
  } catch (error) {
    if (isUnreadable(error)) return { outcome: "unreadable" };
    throw error;
  }
}

async function endFacts(
  { startedAt }: ExecutionSummary,
  { outcome, at }: OutcomeRecord,
  lane: Lane,
): Promise<Pick<ListedExecution, "outcome" | "ms">> {
  const ending = await lane.work(endingHead(outcome));
  return { outcome: textOf(ending, "type") ?? "unreadable", ms: Math.max(0, at - startedAt) };
}

/** An execution whose records cannot be read must not hide the others. */
async function readOpen(
  journal: Journal,
  { execution, kind, tenant }: ExecutionSummary,
  driven: boolean,
  budget?: ReadingBudget,
): Promise<OpenFacts> {
  try {
    if (kind === "conversation")
      return await openConversation(await readPastConversation(journal, execution, tenant, budget));
    const state = new ExecutionState();
    await readRecords(journal, execution, { tenant, budget, ...NO_ITEMS }).each((record) => applySliced(state, record));
    return await openProgram(state, standingOf(state, driven), tenant);
  } catch (error) {
    if (isUnreadable(error)) return { state: "unreadable" };
    if (error instanceof BudgetSpent) return { state: "unread" };
    throw error;
  }
}

function isUnreadable(error: unknown): boolean {
  return PortcullisError.is(error) && UNREADABLE.has(error.code);
}

async function openConversation(past: PastConversation, standing = standingOfConversation(past)): Promise<OpenFacts> {
  const { parent, tenant } = past.header;
  const all = standing.state === "waiting" ? standing.calls : [];
  const calls = past.rest ? all : all.filter(isOutside);
  // A model may write anything as the input of a call that its host is to answer.
  if (!past.rest && !(await haveInputs(calls, tenant))) return { state: "unreadable" };
  return { state: standing.state, calls, parent };
}

async function openProgram(
  state: ExecutionState,
  standing: ReturnType<typeof standingOf>,
  tenant: string,
): Promise<OpenFacts> {
  const calls = standing.state === "waiting" ? standing.calls.filter(isOutside) : [];
  if (!(await haveInputs(calls, tenant))) return { state: "unreadable" };
  return { state: standing.state, calls, parent: state.header?.parent };
}

function isOutside({ ruling }: UnansweredCall): boolean {
  return ruling?.decision === "held" || ruling?.decision === "client";
}

/** Whether the inputs of waiting calls that a report lists are JSON. A journal from elsewhere may have other texts. */
async function haveInputs(calls: readonly UnansweredCall[], tenant: string): Promise<boolean> {
  const reader = readerFor(tenant);
  const room = new ListedRoom();
  for (const call of calls) {
    if (!room.take(call)) break;
    for (const text of [call.inputText, call.converted])
      if (text !== undefined && (await plainFault(asUntrusted(text), reader)) !== undefined) return false;
  }
  return true;
}

const UNREADABLE: ReadonlySet<string> = new Set(["journal_invalid", "journal_version", "journal_corrupt"]);

/** What the journal tells of an execution. `ended` is a program that has ended or waits. */
export interface ExecutionFacts {
  readonly listed: ListedExecution;
  readonly ended?: Execution;
  readonly conversation?: ConversationStatus;
}

/** Reads an execution of this tenant, and drives nothing. Rejects with `execution_unknown`, and as the journal does. */
export async function readFacts(scope: Scope, execution: ExecutionId): Promise<ExecutionFacts> {
  const summary = await findOwn(scope, execution);
  if (summary.kind === "conversation") return conversationFacts(scope, summary);
  if (summary.kind === "call") return { listed: await listExecution(scope.journal, summary) };
  const past = await readPast(readRecords(scope.journal, execution, { tenant: scope.tenant, ...NO_ITEMS }));
  const { state, outcome } = past;
  const header = headerOf(state, execution);
  const standing = standingOf(state, isDriven(scope.journal, summary));
  const listed = await listRead(scope.journal, summary, { records: state.records, outcome }, () =>
    openProgram(state, standing, scope.tenant),
  );
  const own: Scope = { ...scope, limits: limitsOf(header), language: header.language as Language };
  // Undefined for a program that goes on by itself.
  const ended = await (outcome ? endedExecution(own, past) : waitingExecution(own, past, standing));
  return { listed, ended };
}

/** All facts come from the same reading: between two readings a conversation may end. */
async function conversationFacts(scope: Scope, summary: ExecutionSummary): Promise<ExecutionFacts> {
  const past = await readOwnConversation(scope, summary.execution);
  const standing = standingOfConversation(past);
  const listed = await listRead(scope.journal, summary, past, () => openConversation(past, standing));
  const { answering, turns, state, usage, use, header } = past;
  const conversation = {
    model: answering.model,
    task: header.task,
    turns: turns.length,
    said: userMessages(state).length,
    usage: { ...usage, turns: turns.length - copiedTurns(state), calls: use.lines.length },
    calls: use.lines,
    artifacts: new ArtifactSpace(scope.journal, header.execution, past.artifacts).all,
    ending: await endingOf(past, scope.redactor, standing),
  };
  return { listed, conversation };
}

/**
 * How often it is looked without a notice, in milliseconds: a journal may tell of no appends, a notice may be lost, and
 * what a conversation waits for may stand in the journal of its program.
 */
const LOOK_MS = 1000;
const LOOK_WITHOUT_NOTICES_MS = 200;
/** After an append that ends nothing and whose driver goes on, the next ones are waited for, in milliseconds. */
const PAUSE_MS = 200;
/** An execution is read again at most so many times as often as a reading takes, but once it has ended or was left. */
const READ_PART = 4;

/** Tells whether a program goes on as it did when it was read; undefined if only a reading tells how an execution stands. */
function markOf({ kind, records, lease }: ExecutionSummary): number | undefined {
  return kind === "program" && leasedUntil(lease) !== undefined ? records : undefined;
}

/**
 * Reads an execution after appends to it, until it ends or waits. Rejects with `execution_unknown`, also for another tenant's,
 * as the journal does, and with the signal's reason.
 */
export async function waitForRest(scope: Scope, execution: ExecutionId, signal: AbortSignal): Promise<ExecutionFacts> {
  const { journal } = scope;
  let records = 0;
  let seen: number | undefined;
  let changed = Promise.withResolvers<void>();
  let isOver = Promise.withResolvers<void>();
  using _ = journal.onAppend?.((appended) => {
    const { head = Infinity } = appended;
    if (appended.execution !== undefined && (appended.execution !== execution || head <= records)) return;
    changed.resolve();
    if (appended.ended === true || appended.left === true) isOver.resolve();
  });
  const lookMs = journal.onAppend ? LOOK_MS : LOOK_WITHOUT_NOTICES_MS;
  for (;;) {
    signal.throwIfAborted();
    changed = Promise.withResolvers();
    isOver = Promise.withResolvers();
    const since = monotonic();
    const found = await findOwn(scope, execution);
    if (seen === undefined || markOf(found) !== seen) {
      const facts = await readFacts(scope, execution);
      const { listed } = facts;
      if (listed.state !== "running") return facts;
      // What a conversation waits for may have changed without a record of its own.
      records = listed.kind === "program" ? listed.records : 0;
      // Undefined if the lease has run out since.
      seen = markOf(found);
    }
    const readMs = (monotonic() - since) * READ_PART;
    const looking = new AbortController();
    const stop = AbortSignal.any([signal, looking.signal]);
    const sleep = (ms: number) => pause(Math.max(ms, readMs), { signal: stop, ref: false });
    try {
      await Promise.race([isOver.promise, changed.promise.then(() => sleep(PAUSE_MS)), sleep(lookMs)]);
    } finally {
      looking.abort();
    }
  }
}

/**
 * Resolves once the journal has more than `records` records of an execution. Rejects as the journal does, and with the
 * signal's reason.
 */
export async function untilAppended(
  journal: Journal,
  execution: ExecutionId,
  records: number,
  signal: AbortSignal,
): Promise<void> {
  let changed = Promise.withResolvers<void>();
  using _ = journal.onAppend?.((appended) => {
    if (appended.execution === undefined || appended.execution === execution) changed.resolve();
  });
  for (;;) {
    signal.throwIfAborted();
    changed = Promise.withResolvers();
    if ((await journal.find(execution)).records > records) return;
    const looking = after(LOOK_MS, changed.resolve).unref();
    await untilAborted(changed.promise, signal).finally(() => cancel(looking));
  }
}
