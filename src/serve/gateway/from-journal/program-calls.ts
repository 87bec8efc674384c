import type { GuestFrame } from "../../../../bridge/frames.ts";
import { drivenHere } from "../../../executions/driven.ts";
import { dueAt } from "../../../gate/approve/call-waits.ts";
import { type ExecutionId, Lane, type SlicedWork } from "../../../base/index.ts";
import type { Journal } from "../../../journal/journal.ts";
import { NO_ITEMS, readRecords } from "../../../journal/reading/index.ts";
import type { JournalRecord, ResultRecord } from "../../../journal/record.ts";
import {
  applySliced,
  endingHead,
  ExecutionState,
  readingSliced,
  shownText,
} from "../../../executions/from-journal/index.ts";

/** A call for which a client is asked. */
export interface AskedCall {
  readonly id: string;
  readonly tool: string;
  /** Undefined if it was redacted, and no driver here has it. */
  readonly inputText: string | undefined;
  /** How often the client had answered before it was asked for this one. */
  readonly round: number;
  /** The mark of what the client answered. */
  readonly answer: number | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface AskedCalls {
  readonly calls: readonly AskedCall[];
  /** How often the client has answered. */
  readonly rounds: number;
  /** UTF-8 bytes of what the client answered, by the round that follows. */
  readonly bytesIn: readonly number[];
  /** The client has left the program, which was ended without it. */
  readonly isLeft: boolean;
  /** A limit of time stopped the program. */
  readonly isLate: boolean;
}

/** What no client has answered is no answer that comes again. */
export function resultMark({ mark = -1 }: ResultRecord): number {
  return mark;
}

/** The calls of a program for which its client is asked, in the order of its journal. */
export async function readProgramCalls(journal: Journal, execution: ExecutionId, tenant: string): Promise<AskedCalls> {
  const state = new ExecutionState();
  const found = new Map<string, { -readonly [Name in keyof AskedCall]: AskedCall[Name] }>();
  const bytesIn: number[] = [];
  let rounds = 0;
  let isAsked = false;
  const driver = drivenHere(journal, execution)?.log;
  /** Calls of whose inputs the journal has a part. */
  const redacted = new Set<number>();
  const note = (record: JournalRecord) => {
    if (record.type === "call" && record.decision === "client") {
      const call = state.calls.get(Number(record.call));
      if (!call || found.has(record.call)) return;
      const { id, tool } = call;
      if (record.redacted !== undefined) redacted.add(id);
      const expiresAt = dueAt(record.at, state.header?.limits.waitMs);
      found.set(record.call, {
        id: record.call,
        tool,
        inputText: driver?.inputOf?.(id) ?? (redacted.has(id) ? undefined : shownText(call)),
        round: rounds,
        answer: undefined,
        expiresAt,
      });
      isAsked = true;
    }
    if (record.type !== "result") return;
    const call = found.get(record.call);
    if (!call || call.answer !== undefined) return;
    call.answer = resultMark(record);
    if (isAsked) rounds += 1;
    isAsked = false;
    bytesIn[rounds] = (bytesIn[rounds] ?? 0) + Buffer.byteLength(record.value ?? record.error ?? "");
  };
  const take = function* (record: JournalRecord): SlicedWork<void> {
    const command = (one: GuestFrame) => {
      if (record.type === "turn" && record.redacted !== undefined && one.kind === "call") redacted.add(one.id);
    };
    yield* applySliced(state, record, { event: () => {}, command });
    note(record);
  };
  await readRecords(journal, execution, { tenant, ...NO_ITEMS }).each((record) =>
    readingSliced(execution, 0, take(record)),
  );
  const { outcome = "" } = state.end;
  const { type, limit } = await new Lane(tenant).work(endingHead(outcome));
  return {
    calls: [...found.values()],
    rounds,
    bytesIn: Array.from(bytesIn, (bytes) => bytes ?? 0),
    isLeft: type === "cancelled",
    isLate: type === "stopped" && (limit === "cpuMs" || limit === "wallMs"),
  };
}
