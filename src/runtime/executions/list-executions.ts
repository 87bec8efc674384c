import { Lane, plainFault, PortcullisError, readerFor, textOf, asUntrusted } from "../../base/index.ts";
import type { ExecutionSummary, Journal, ListOptions } from "../../journal/journal.ts";
import {
  BudgetSpent,
  NO_ITEMS,
  type ReadingBudget,
  readList,
  readRecords,
} from "../../journal/reading/read-records.ts";
import type { OutcomeRecord, ParentRef } from "../../journal/record.ts";
import { isDriven, neededBy } from "../../executions/driven.ts";
import { endingHead } from "../../executions/from-journal/ending-head.ts";
import { applySliced, ExecutionState, type UnansweredCall } from "../../executions/from-journal/execution-state.ts";
import {
  type ConversationStanding,
  standingOfConversation,
} from "../../conversations/from-journal/conversation-standing.ts";
import { type PastConversation, readPastConversation } from "../../conversations/from-journal/past-conversation.ts";
import { ListedRoom, type Standing, standingOf } from "../../executions/from-journal/standing.ts";
import type { ListedExecution } from "./listed-execution.ts";

/** Lists executions, the latest first. Reads the records of open executions, and the last record of others. */
export async function* listExecutions(journal: Journal, options?: ListOptions): AsyncGenerator<ListedExecution> {
  for await (const summary of readList(journal, options)) yield await listExecution(journal, summary);
}

/** An execution as it is listed. Reads its records if it is open and the budget allows that; beyond the budget it is `unread`. */
export async function listExecution(
  journal: Journal,
  summary: ExecutionSummary,
  budget?: ReadingBudget,
): Promise<ListedExecution> {
  const driven = isDriven(journal, summary);
  if (!summary.ended) return listedOpen(summary, driven, await readOpen(journal, summary, driven, budget));
  return { ...baseOf(summary, driven), state: "ended", ...(await readEnd(journal, summary, budget)) };
}

interface OpenFacts {
  readonly state: ListedExecution["state"];
  readonly calls?: readonly UnansweredCall[];
  readonly parent?: ParentRef | undefined;
}

/** An execution that was read, as it is listed. Its summary may be older than its records. */
export async function listRead(
  journal: Journal,
  summary: ExecutionSummary,
  { records, outcome }: { readonly records: number; readonly outcome: OutcomeRecord | undefined },
  open: () => Promise<OpenFacts>,
): Promise<ListedExecution> {
  const now = { ...summary, records, ended: outcome !== undefined };
  const driven = isDriven(journal, now);
  if (!outcome) return listedOpen(now, driven, await open());
  return { ...baseOf(now, driven), state: "ended", ...(await endFacts(now, outcome, new Lane(summary.tenant))) };
}

function baseOf({ execution, kind, tenant, startedAt, records }: ExecutionSummary, driven: boolean) {
  return { execution, kind, tenant, startedAt, records, driven, waitsFor: [] };
}

function listedOpen(
  summary: ExecutionSummary,
  driven: boolean,
  { state, calls = [], parent }: OpenFacts,
): ListedExecution {
  const waitsFor = [...new Set(calls.map(({ tool }) => tool))];
  const needs = state === "running" ? neededBy(summary, driven) : undefined;
  return { ...baseOf(summary, driven), state, waitsFor, needs, parent: parent?.execution };
}

async function readEnd(journal: Journal, summary: ExecutionSummary, budget?: ReadingBudget) {
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

async function endFacts({ startedAt }: ExecutionSummary, { outcome, at }: OutcomeRecord, lane: Lane) {
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
    if (kind === "conversation") {
      const past = await readPastConversation(journal, execution, tenant, budget);
      return await openConversation(past, standingOfConversation(past), tenant);
    }
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

export async function openConversation(
  past: PastConversation,
  standing: ConversationStanding,
  tenant: string,
): Promise<OpenFacts> {
  const all = standing.state === "waiting" ? standing.calls : [];
  const calls = past.rest ? all : all.filter(isOutside);
  // A model may write anything as the input of a call that its host is to answer.
  if (!past.rest && !(await haveInputs(calls, tenant))) return { state: "unreadable" };
  return { state: standing.state, calls, parent: past.header.parent };
}

export async function openProgram({ header }: ExecutionState, standing: Standing, tenant: string): Promise<OpenFacts> {
  const calls = standing.state === "waiting" ? standing.calls.filter(isOutside) : [];
  if (!(await haveInputs(calls, tenant))) return { state: "unreadable" };
  return { state: standing.state, calls, parent: header?.parent };
}

function isOutside({ decided }: UnansweredCall): boolean {
  return decided?.decision === "held" || decided?.decision === "client";
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
