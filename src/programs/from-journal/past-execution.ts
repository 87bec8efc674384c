import type { ErrorBody, HostFrame } from "../../../bridge/frames.ts";
import { optionError, PortcullisError } from "../../errors.ts";
import type { CallLine } from "../../gate/call-line.ts";
import { rememberedIn, type RememberedDecision } from "../../gate/approve/remembered.ts";
import type { PastUse } from "../../gate/session.ts";
import { type PastArtifact, pastArtifact } from "../../journal/artifact-space.ts";
import type { ExecutionId } from "../../journal/execution-id.ts";
import { findIfKnown } from "../../journal/find-if-known.ts";
import type { ExecutionSummary } from "../../journal/journal.ts";
import { type ReadingOptions, readRecords, Records } from "../../journal/reading/read-records.ts";
import type { JournalRecord, OutcomeRecord, ProgramHeader } from "../../journal/record.ts";
import { textOf } from "../../values/fields.ts";
import { readPlainData } from "../../values/json/plain-data.ts";
import { Lane, type SlicedWork } from "../../values/slice-scheduler.ts";
import { applyRecord, applySliced, ExecutionState, PROGRAM_CALL, type TurnListener } from "./execution-state.ts";
import { readingSliced } from "./read-turns.ts";
import { LogCollector } from "../drive/log-collector.ts";
import { CallHistory } from "./call-history.ts";
import { PastStreams } from "./past-streams.ts";
import type { Scope } from "../scope.ts";

/** All that the journal tells of an execution, up to now. */
export interface Past extends Required<PastUse> {
  /** UTF-8 bytes of the items of all streams. */
  readonly streamedBytes: number;
  readonly state: ExecutionState;
  readonly logs: LogCollector;
  readonly outcome: OutcomeRecord | undefined;
  readonly artifacts: readonly PastArtifact[];
}

/**
 * Reads an execution from its journal in one pass, without keeping its turns, in slices of a lane. Rejects with `journal_invalid` for a turn
 * that cannot be read, and as the journal does.
 */
export async function readPast(
  records: AsyncIterable<JournalRecord> | Iterable<JournalRecord>,
  lane = records instanceof Records ? records.lane : new Lane(""),
): Promise<Past> {
  const state = new ExecutionState();
  const past = new CallHistory();
  let logs: LogCollector | undefined;
  const remembered: RememberedDecision[] = [];
  let outcome: OutcomeRecord | undefined;
  const artifacts: PastArtifact[] = [];

  const streams = new PastStreams();
  const turnListener: TurnListener = {
    event: (event) => {
      if (event.kind === "answer") {
        past.tell(String(event.id), answerOf(event));
        streams.end(event.id);
      }
      if (event.kind === "items" && state.calls.has(event.id)) {
        past.stream(String(event.id), event.count, event.bytes);
        streams.take(event);
      }
    },
    command: (command) => {
      if (command.kind === "output") logs?.take(command);
      if (command.kind === "cancel") {
        past.leave(String(command.id), state.now);
        streams.end(command.id);
      }
      if (command.kind !== "call") return;
      const { id, tool, body } = command;
      const inputBytes = Buffer.byteLength(body);
      past.make({ id: String(id), tool, caller: "programmatic", inputBytes, at: state.now });
    },
  };

  const take = function* (record: JournalRecord): SlicedWork<void> {
    if (record.type === "turn") {
      yield* applySliced(state, record, turnListener);
      return;
    }
    if (record.type === "artifact") artifacts.push(pastArtifact(record, state.records));
    applyRecord(state, record);
    past.note(record);
    if (record.type === "header") logs = new LogCollector(record.limits.logBytes ?? 0);
    else if (record.type === "decision")
      remembered.push(...rememberedIn([record], (id) => state.calls.get(Number(id)), state.header?.tools ?? []));
    else if (record.type === "outcome") outcome = record;
  };
  for await (const record of records)
    await lane.work(readingSliced(state.header?.execution, state.records, take(record)));
  const completing = (function* (): SlicedWork<void> {
    yield;
    streams.complete(state.calls);
  })();
  await lane.work(readingSliced(state.header?.execution, state.records - 1, completing));
  const { made: calls, inputBytes, resultBytes, streamedBytes } = past;
  return {
    state,
    logs: logs ?? new LogCollector(0),
    // The program's own approval is none of its calls.
    lines: past.lines.filter(({ callId }) => callId !== PROGRAM_CALL),
    resultBytes,
    streamedBytes,
    inputBytes,
    calls,
    openCalls: state.calls.size,
    remembered,
    outcome,
    artifacts,
  };
}

function answerOf({ ok, body, now }: HostFrame & { readonly kind: "answer" }) {
  return { ok, bytes: ok ? Buffer.byteLength(body) : 0, at: now, code: () => errorIn(body, "code") };
}

/** A field of what a program is given in place of a value: `{ code, tool, message }`. */
export function errorIn(body: string, field: keyof ErrorBody): string | undefined {
  const read = readPlainData(body);
  return read.ok ? textOf(read.value, field) : undefined;
}

/** Finds an execution of this tenant. Rejects with `execution_unknown`, in the same words for another tenant's execution. */
export async function findOwn(
  { journal, tenant }: Pick<Scope, "journal" | "tenant">,
  execution: ExecutionId,
): Promise<ExecutionSummary> {
  const found = await findIfKnown(journal, execution);
  if (found?.tenant !== tenant) throw executionUnknown(execution, tenant);
  return found;
}

function executionUnknown(execution: ExecutionId, tenant: string): PortcullisError {
  return new PortcullisError(
    "execution_unknown",
    `The journal holds no execution ${JSON.stringify(execution)} of tenant ${JSON.stringify(tenant)}. List what it holds, and of whom, with: runtime.executions()`,
  );
}

/**
 * Reads a program's execution of this tenant. Without the items of streams (`NO_ITEMS`), nothing can go on with it. Rejects
 * with `execution_unknown`, and as `readPast` does.
 */
export async function readOwn(
  { journal, tenant }: Pick<Scope, "journal" | "tenant">,
  execution: ExecutionId,
  reading: Pick<ReadingOptions, "itemBytes"> = {},
): Promise<Past & { readonly header: ProgramHeader }> {
  await findOwn({ journal, tenant }, execution);
  const past = await readPast(readRecords(journal, execution, { tenant, ...reading }));
  const { header } = past.state;
  if (!header || header.tenant !== tenant) throw executionUnknown(execution, tenant);
  if (header.kind !== "program")
    throw optionError("resume(execution)", "the execution of a program", `a ${header.kind}`);
  return { ...past, header };
}

/** The past of an execution for its next driver, which makes the open calls again, even if their handlers have ended. */
export function withoutOpenCalls(past: Past): Past {
  const isOpen = ({ callId }: CallLine) => past.state.calls.has(Number(callId));
  const again = past.lines
    .filter((line) => isOpen(line) && line.items === undefined)
    .reduce((bytes, line) => bytes + line.bytes, 0);
  return { ...past, lines: past.lines.filter((line) => !isOpen(line)), resultBytes: past.resultBytes - again };
}
