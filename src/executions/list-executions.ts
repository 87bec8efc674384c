import { PortcullisError } from "../errors.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { ExecutionSummary, Journal, ListOptions } from "../journal/journal.ts";
import type { Header, JournalRecord, ParentRef } from "../journal/record.ts";
import { isDriven } from "../programs/driven-here.ts";
import { applyRecord, initialState } from "../programs/execution-state.ts";
import { isResting, readPastConversation, waitingOfConversation } from "../agent/past-conversation.ts";
import { inSlices } from "../values/in-slices.ts";
import { Lane } from "../values/slice-scheduler.ts";
import { type Waiting, waitingOf } from "../programs/waiting.ts";

/** An execution or a conversation in the journal. */
export interface ListedExecution {
  readonly id: ExecutionId;
  readonly kind: Header["kind"];
  /**
   * `waiting`: only a decision, a client's result or, in a conversation, the user brings it further. `unreadable`: it has no outcome, and its records
   * cannot be read. `running`: anything else without an outcome.
   */
  readonly state: "running" | "waiting" | "ended" | "unreadable";
  readonly tenant: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Number of its records. */
  readonly records: number;
  /** Whether a driver holds its lease. One that runs and is not driven was left by a driver that died, or its calls were decided since: `recover` takes it up. */
  readonly driven: boolean;
  /** Names of the tools whose calls it waits for, each once. */
  readonly waitsFor: readonly string[];
  /**
   * The conversation or program whose call has started it, which waits for the same calls and goes on with it. Told of
   * open ones.
   */
  readonly parent?: ExecutionId;
}

/** Lists executions, the latest first. Reads the records of open ones. */
export async function* listExecutions(journal: Journal, options?: ListOptions): AsyncGenerator<ListedExecution> {
  for await (const summary of journal.list(options)) yield await listedExecution(journal, summary);
}

/** One of the list. Reads its records if it is open. */
export async function listedExecution(journal: Journal, summary: ExecutionSummary): Promise<ListedExecution> {
  const driven = isDriven(journal, summary);
  const open = summary.ended ? ENDED : await readOpen(journal, summary, driven);
  const { waitsFor = [], rests = false, parent } = open ?? {};
  const waits = rests || waitsFor.length > 0;
  const openState = open === undefined ? "unreadable" : waits ? "waiting" : "running";
  const { execution: id, kind, tenant, startedAt, records, ended } = summary;
  const state = ended ? "ended" : openState;
  const below = parent === undefined ? {} : { parent: parent.execution };
  return { id, kind, state, tenant, startedAt, records, driven, waitsFor, ...below };
}

interface OpenFacts {
  readonly waitsFor: readonly string[];
  /** A conversation that waits for the user. */
  readonly rests?: boolean;
  readonly parent?: ParentRef | undefined;
}

const ENDED: OpenFacts = { waitsFor: [] };

/** Undefined for records that cannot be read: one execution must not hide the others. */
async function readOpen(
  journal: Journal,
  { execution, kind, tenant }: ExecutionSummary,
  driven: boolean,
): Promise<OpenFacts | undefined> {
  try {
    return kind === "conversation"
      ? await readOpenConversation(journal, execution, tenant)
      : await readOpenProgram(inSlices(journal.read(execution), new Lane(tenant)), driven);
  } catch (error) {
    if (PortcullisError.is(error) && UNREADABLE.has(error.code)) return undefined;
    throw error;
  }
}

async function readOpenConversation(journal: Journal, execution: ExecutionId, tenant: string): Promise<OpenFacts> {
  const past = await readPastConversation(journal, execution, tenant);
  return { waitsFor: toolsIn(waitingOfConversation(past)), rests: isResting(past), parent: past.header.parent };
}

async function readOpenProgram(records: AsyncIterable<JournalRecord>, driven: boolean): Promise<OpenFacts> {
  const state = initialState();
  for await (const record of records) applyRecord(state, record);
  // One that cannot be replayed waits where it is driven. Without its driver it does not go on.
  const waiting = state.unreplayable === undefined || driven ? waitingOf(state) : undefined;
  return { waitsFor: toolsIn(waiting), parent: state.header?.parent };
}

function toolsIn(waiting: Waiting | undefined): readonly string[] {
  return waiting ? [...new Set([...waiting.approvals, ...waiting.calls].map(({ tool }) => tool))] : [];
}

const UNREADABLE: ReadonlySet<string> = new Set(["journal_invalid", "journal_version", "journal_corrupt"]);
