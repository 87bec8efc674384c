import { type ExecutionId, now } from "../../base/index.ts";
import { childExecution } from "../../conversations/calls/child-execution.ts";
import type { PastConversation } from "../../conversations/from-journal/past-conversation.ts";
import { findIfKnown } from "../../journal/find-if-known.ts";
import type { ExecutionSummary, Head, Journal } from "../../journal/journal.ts";
import type { Header } from "../../journal/record.ts";
import type { Model } from "../../models/model.ts";
import type { ExecutionState, UnansweredCall } from "../../executions/from-journal/execution-state.ts";
import { expiryOf } from "../../executions/from-journal/call-history.ts";
import { openCalls } from "../../executions/from-journal/standing.ts";
import type { RecoveredConversation } from "./recover-options.ts";

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

export type LeftOpen = Map<ExecutionId, OpenReason>;

/** Longer tasks are read again: what is kept of an execution stays small. */
const KEPT_TASK_CHARACTERS = 2000;

/** Notes why an execution stays open. Without a reason, or with one that would take much memory, it is read again. */
export function note(left: LeftOpen | undefined, execution: ExecutionId, why: OpenReason | undefined): void {
  if (why && !(why.to === "model" && why.task.length > KEPT_TASK_CHARACTERS)) left?.set(execution, why);
  else left?.delete(execution);
}

/** Whether an execution is still open for the reason that an earlier recovery has found. */
export async function isStillLeft(
  {
    journal,
    left,
    model,
  }: {
    readonly journal: Journal;
    readonly left?: LeftOpen;
    readonly model: (conversation: RecoveredConversation) => Model | undefined;
  },
  { execution, tenant, records }: ExecutionSummary,
): Promise<boolean> {
  const known = left?.get(execution);
  if (known === undefined) return false;
  if (known.to === "caller") return isOpen(journal, known.caller);
  if (known.records !== records) return false;
  if (known.to === "model") return model({ execution, tenant, model: known.model, task: known.task }) === undefined;
  if (now() >= known.until) return false;
  for (const [program, head] of known.programs)
    if ((await findIfKnown(journal, program))?.records !== head) return false;
  return true;
}

/** Whether the journal holds the execution, and it has no outcome. */
export async function isOpen(journal: Journal, execution: ExecutionId): Promise<boolean> {
  return (await findIfKnown(journal, execution))?.ended === false;
}

export function waitingProgram(state: ExecutionState): OpenReason {
  return {
    to: "outside",
    records: state.records,
    programs: new Map(),
    until: firstExpiry(state.header, openCalls(state)),
  };
}

/**
 * For a conversation that waits for the outside. Undefined if a driver has one of its programs: the end of the driver's
 * lease may change how the conversation stands, and leaves no record.
 */
export function waitingConversation({ header, records, open, rest }: PastConversation): OpenReason | undefined {
  const programs = new Map<ExecutionId, Head>();
  let until = Number.POSITIVE_INFINITY;
  for (const call of open.values()) {
    const { id, program, driven } = call;
    if (driven) return undefined;
    if (program) programs.set(childExecution(header.execution, id), program.state.records);
    const expiry = program ? firstExpiry(program.state.header, openCalls(program.state)) : expiryOf(header, call);
    if (!rest) until = Math.min(until, expiry);
  }
  return { to: "outside", records, programs, until };
}

export function withoutModel({ header: { task }, records, answering: { model } }: PastConversation): OpenReason {
  return { to: "model", records, model, task };
}

function firstExpiry(header: Pick<Header, "limits"> | undefined, calls: readonly UnansweredCall[]): number {
  return calls.reduce((first, call) => Math.min(first, expiryOf(header, call)), Number.POSITIVE_INFINITY);
}
