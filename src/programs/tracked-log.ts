import type { GuestTurn } from "../../bridge/turn-reader.ts";
import type { GateLog } from "../gate/call-ledger.ts";
import { ExecutionLog } from "../journal/execution-log.ts";
import type { Journal } from "../journal/journal.ts";
import type { AnsweredRecord, Header, JournalRecord, TurnRecord } from "../journal/record.ts";
import { applyCommand, applyRecord, beginTurn, type ExecutionState, initialState } from "./execution-state.ts";
import type { SlicedWork } from "../values/slice-scheduler.ts";
import type { GuestEvent } from "./guest-event.ts";

/** A turn may have a hundred thousand commands. Between so many of them the host's thread may be yielded. */
export const COMMANDS_PER_SLICE = 256;

/**
 * Appends to an execution's journal and keeps the state derived from its records. A record changes the state when it is
 * passed in, so the state is ahead of the journal by the records being written.
 */
export class TrackedLog implements GateLog {
  readonly state: ExecutionState = initialState();
  readonly #log: ExecutionLog;

  private constructor(log: ExecutionLog, header: Header) {
    this.#log = log;
    applyRecord(this.state, header);
  }

  static async create(journal: Journal, header: Header): Promise<TrackedLog> {
    return new TrackedLog(await ExecutionLog.create(journal, header), header);
  }

  /** Resolves once the record is in the journal. */
  append(record: Exclude<JournalRecord, TurnRecord>): Promise<void> {
    applyRecord(this.state, record);
    return this.#log.append(record);
  }

  /** Writes the record together with the next one that is appended. */
  defer(record: AnsweredRecord): void {
    applyRecord(this.state, record);
    this.#log.defer(record);
  }

  /** Applies turns, each with the event that began it, to the state. Returns their records, which are still to be appended. */
  *applyTurns(turns: readonly (readonly [GuestEvent, GuestTurn])[]): SlicedWork<readonly TurnRecord[]> {
    const records: TurnRecord[] = [];
    for (const [{ head, text }, { commands, texts }] of turns) {
      beginTurn(this.state, head);
      for (const [index, command] of commands.entries()) {
        applyCommand(this.state, command);
        if (index % COMMANDS_PER_SLICE === COMMANDS_PER_SLICE - 1) yield;
      }
      records.push({ type: "turn", event: text, commands: texts });
    }
    return records;
  }

  /** Appends the records of `applyTurns`. Resolves once they are in the journal. */
  appendTurns(records: readonly TurnRecord[]): Promise<void> {
    return this.#log.append(...records);
  }
}
