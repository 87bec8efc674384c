import type { ErrorBody, HostFrame } from "../../../bridge/frames.ts";
import {
  type ExecutionId,
  Lane,
  parsedJson,
  PortcullisError,
  REMEDIES,
  readPlainData,
  type SlicedWork,
  sumOf,
  textOf,
} from "../../base/index.ts";
import type { CallLine } from "../../gate/call-line.ts";
import { type RememberedDecision, rememberedIn } from "../../gate/approve/remembered.ts";
import type { StandIn } from "../../gate/reuse/earlier-calls.ts";
import type { PastUse } from "../../gate/session.ts";
import { type PastArtifact, pastArtifact } from "../../journal/artifact-space.ts";
import { findIfKnown } from "../../journal/find-if-known.ts";
import type { ExecutionSummary } from "../../journal/journal.ts";
import { type ReadingOptions, readRecords, Records } from "../../journal/reading/read-records.ts";
import type { JournalRecord, OutcomeRecord, ProgramHeader } from "../../journal/record.ts";
import {
  applyRecord,
  applySliced,
  callOfId,
  ExecutionState,
  type RecordedOpenCall,
  PROGRAM_APPROVAL,
  type TurnListener,
} from "./execution-state.ts";
import { readingSliced } from "./read-turns.ts";
import { logCollector, type LogCollector } from "../drive/log-collector.ts";
import { CallHistory } from "./call-history.ts";
import type { Scope } from "../scope.ts";
import { ItemsDigest } from "../../gate/streams/past-items.ts";

/** All that the journal tells of an execution, up to now. */
export interface Past extends Required<PastUse> {
  readonly streamedBytes: number;
  readonly state: ExecutionState;
  readonly logs: LogCollector;
  readonly outcome: OutcomeRecord | undefined;
  readonly artifacts: readonly PastArtifact[];
  readonly standIns: readonly StandIn[];
}

/**
 * Reads an execution from its journal in one pass, without keeping its turns, in slices of a lane. Rejects with `journal_invalid` for a turn
 * that cannot be read, and as the journal does.
 */
export async function readPast(
  records: AsyncIterable<JournalRecord> | Iterable<JournalRecord>,
  lane = records instanceof Records ? records.lane : new Lane(""),
): Promise<Past> {
  const fold = pastFold();
  for await (const record of records) await lane.work(fold.take(record));
  return lane.work(fold.past());
}

/** Takes the records of an execution one after the other, and tells after any of them all that they tell. It keeps no turns: `observer` is told of each. */
export function pastFold(observer?: TurnListener) {
  const seen = { calls: new CallHistory(), streams: pastStreams(), logs: logCollector(NO_LOGS) };
  const state = new ExecutionState();
  const remembered: RememberedDecision[] = [];
  const artifacts: PastArtifact[] = [];
  let outcome: OutcomeRecord | undefined;
  const listener = listenerOf(state, seen, observer);

  function* apply(record: JournalRecord): SlicedWork<void> {
    if (record.type === "turn") return yield* applySliced(state, record, listener);
    if (record.type === "artifact") artifacts.push(pastArtifact(record, state.records));
    applyRecord(state, record);
    seen.calls.note(record);
    if (record.type === "header") seen.logs = logCollector({ ...NO_LOGS, ...record.limits });
    else if (record.type === "decision")
      remembered.push(...rememberedIn([record], (id) => callOfId(state, id), state.header?.tools ?? []));
    else if (record.type === "outcome") outcome = record;
  }

  return {
    state,
    calls: seen.calls,

    take: (record: JournalRecord) => readingSliced(state.header?.execution, state.records, apply(record)),

    *past(): SlicedWork<Past> {
      const { calls, logs, streams } = seen;
      yield* readingSliced(state.header?.execution, state.records - 1, streams.complete(state.calls));
      return {
        state,
        logs,
        ...usedBy(calls),
        openCalls: state.calls.size,
        remembered,
        outcome,
        artifacts,
      };
    },
  };
}

export type PastFold = ReturnType<typeof pastFold>;

const NO_LOGS = { logBytes: 0, printedBytes: 0 };

function usedBy({ total, inputBytes, resultBytes, streamedBytes, standIns, lines }: CallHistory) {
  // The program's own approval is none of its calls.
  const own = lines.filter(({ callId }) => callId !== PROGRAM_APPROVAL);
  return { calls: total, inputBytes, resultBytes, streamedBytes, standIns, lines: own };
}

interface SeenInTurns {
  readonly calls: CallHistory;
  readonly streams: ReturnType<typeof pastStreams>;
  readonly logs: LogCollector;
}

function listenerOf(state: ExecutionState, seen: SeenInTurns, observer: TurnListener | undefined): TurnListener {
  const { calls, streams } = seen;
  return {
    event(event) {
      if (event.kind === "answer") {
        calls.tell(String(event.id), answerOf(event));
        streams.end(event.id);
      }
      if (event.kind === "items" && state.calls.has(event.id)) {
        calls.stream(String(event.id), event.count, event.bytes);
        streams.take(event);
      }
      observer?.event(event);
    },

    command(command) {
      observer?.command(command);
      const { now } = state;
      if (command.kind === "output") seen.logs.take(command);
      if (command.kind === "cancel") {
        calls.leave(String(command.id), now);
        streams.end(command.id);
      }
      if (command.kind !== "call") return;
      const { id, tool, body } = command;
      calls.make({ id: String(id), tool, caller: "programmatic", inputBytes: Buffer.byteLength(body), at: now });
    },
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
    `The journal holds no execution ${JSON.stringify(execution)} of tenant ${JSON.stringify(tenant)}. ${REMEDIES.execution_unknown}`,
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
  const header = headerOf(past.state, execution);
  if (header.tenant !== tenant) throw executionUnknown(execution, tenant);
  return { ...past, header };
}

/** The header of a program that was read. Throws `execution_unknown` without one, and `option_invalid` for another kind. */
export function headerOf({ header }: ExecutionState, execution: ExecutionId): ProgramHeader {
  if (!header) throw executionUnknown(execution, "");
  if (header.kind === "program") return header;
  throw new PortcullisError(
    "option_invalid",
    `${JSON.stringify(execution)} is a ${header.kind}. ${header.kind === "conversation" ? "Give the `model` that it began with: runtime.execution(id).resume({ model })." : "A call of the host cannot be continued."}`,
  );
}

/** The past of an execution for its next driver, which makes the open calls again, even if their handlers have ended. */
export function withoutOpenCalls(past: Past): Past {
  const isOpen = ({ callId }: CallLine) => callOfId(past.state, callId) !== undefined;
  const again = past.lines.filter((line) => isOpen(line) && line.items === undefined);
  return {
    ...past,
    lines: past.lines.filter((line) => !isOpen(line)),
    resultBytes: past.resultBytes - sumOf(again, ({ bytes }) => bytes),
  };
}

/** The last batch of each open stream, and a digest of its items: what the next driver needs to go on with it. */
function pastStreams() {
  const streams = new Map<number, { readonly body: string; readonly digest: ItemsDigest } | undefined>();
  return {
    take({ id, body }: HostFrame & { readonly kind: "items" }): void {
      const stream = streams.has(id) ? streams.get(id) : { body: "", digest: new ItemsDigest() };
      // After a batch that the journal does not hold nothing can be compared.
      if (body !== undefined) stream?.digest.add(body.slice(1, -1));
      streams.set(id, body === undefined ? undefined : stream && { body, digest: stream.digest });
    },

    /** The stream has ended, or the program reads no more of it. */
    end: (id: number) => void streams.delete(id),

    /** Completes what is known of the streams of these calls, which are open. */
    *complete(calls: ReadonlyMap<number, RecordedOpenCall>): SlicedWork<void> {
      yield;
      for (const [id, call] of calls) {
        const stream = streams.get(id);
        if (!stream || !call.streamed) continue;
        call.streamed = { ...call.streamed, last: JSON.stringify(lastOf(stream.body, id)), digest: stream.digest.hex };
      }
    },
  };
}

/** The last item of a batch. The journal may come from elsewhere. */
function lastOf(body: string, id: number): unknown {
  const items = parsedJson(body);
  if (Array.isArray(items)) return items.at(-1) ?? null;
  throw new PortcullisError("journal_invalid", `The journal holds a batch of call ${id} that is no list of items.`);
}
