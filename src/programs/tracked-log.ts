import type { GuestTurn } from "../../bridge/turn-reader.ts";
import type { GateLog } from "../gate/session.ts";
import { ExecutionLog } from "../journal/execution-log.ts";
import type { Journal } from "../journal/journal.ts";
import type { AnsweredRecord, Header, JournalRecord, TurnRecord } from "../journal/record.ts";
import { applyRecord, applyTurn, type ExecutionState, initialState } from "./execution-state.ts";
import type { GuestEvent } from "./guest-event.ts";

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

  /** Appends turns, each with the event that began it. Resolves with the records once they are in the journal. */
  async appendTurns(turns: readonly (readonly [GuestEvent, GuestTurn])[]): Promise<readonly TurnRecord[]> {
    const records = turns.map(([{ head, text }, { commands, texts }]): TurnRecord => {
      applyTurn(this.state, head, commands);
      return { type: "turn", event: text, commands: texts };
    });
    await this.#log.append(...records);
    return records;
  }
}
