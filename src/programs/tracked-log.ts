import type { PortcullisError } from "../errors.ts";
import type { GuestTurn } from "../../bridge/turn-reader.ts";
import type { GateLog } from "../gate/call-ledger.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import { type DriverOptions, ExecutionLog, type ForeignRecord, isHeadMoved } from "../journal/execution-log.ts";
import type { Journal } from "../journal/journal.ts";
import type { AnsweredRecord, HandRecord, Header, JournalRecord, TurnRecord } from "../journal/record.ts";
import { applyCommand, applyRecord, beginTurn, type ExecutionState, initialState } from "./execution-state.ts";
import { wasRedacted } from "../redaction/redacting-journal.ts";
import type { SlicedWork } from "../values/slice-scheduler.ts";
import type { GuestEvent } from "./guest-event.ts";

/** A turn may have a hundred thousand commands. Between so many of them the host's thread may be yielded. */
export const COMMANDS_PER_SLICE = 256;

/** How often a driver that lost an execution tries to say so between the appends of the one that has it. */
const ALIVE_ATTEMPTS = 10;

/**
 * Appends to an execution's journal and keeps the state derived from its records. A record changes the state when it is
 * passed in, so the state is ahead of the journal by the records being written.
 */
export class TrackedLog implements GateLog {
  readonly state: ExecutionState;
  readonly #journal: Journal;
  readonly #log: ExecutionLog;
  /** Whether the journal, if nothing more is appended to it, lets this driver seem to have died while the program had the turn. */
  #seemsDead = false;
  /** Resolves once the journal knows that this driver is alive, if it needs to. */
  #noted: Promise<void> = Promise.resolve();
  /** Called with records that others have appended. */
  onForeign: ((records: readonly ForeignRecord[]) => void) | undefined;

  private constructor(journal: Journal, log: ExecutionLog, state: ExecutionState) {
    this.#journal = journal;
    this.#log = log;
    this.state = state;
    log.onForeign = (records) => {
      for (const record of records) applyRecord(state, record);
      this.onForeign?.(records);
    };
  }

  static async create(journal: Journal, header: Header, driver: DriverOptions): Promise<TrackedLog> {
    const log = await ExecutionLog.create(journal, header, driver);
    const state = initialState();
    applyRecord(state, header);
    return new TrackedLog(journal, log, state);
  }

  /**
   * Takes an execution over in the state of its journal, and appends these records. Rejects with `head_moved` if others
   * have appended since the state was read.
   */
  static async claim(
    journal: Journal,
    state: ExecutionState,
    driver: DriverOptions,
    records: readonly ForeignRecord[] = [],
  ): Promise<TrackedLog> {
    const { header } = state;
    if (!header) throw new Error("An execution without a header cannot be claimed.");
    const claimed = [{ type: "claim", ...driver, at: Date.now() } as const, ...records];
    const log = await ExecutionLog.claim(journal, header.execution, state.records, driver, claimed);
    for (const record of claimed) applyRecord(state, record);
    return new TrackedLog(journal, log, state);
  }

  get execution(): ExecutionId {
    return this.#log.execution;
  }

  /** Whether the journal keeps its records outside of this process's memory. */
  get isDurable(): boolean {
    return this.#journal.isDurable === true;
  }

  /** Number of records that are known to be in the journal. */
  get position(): number {
    return this.#log.position;
  }

  /** Whether records are being written. */
  get isWriting(): boolean {
    return this.#log.isWriting;
  }

  /** Called once if another driver has taken the execution over. */
  set onFenced(onFenced: (error: unknown) => void) {
    this.#log.onFenced = (error) => {
      if (this.#seemsDead && this.state.driver !== undefined) this.#noted = this.#noteAlive(this.state.driver);
      onFenced(error);
    };
  }

  /**
   * Journals who has the turn, as long as a driver that dies may have died of the program: after the execution was taken
   * up, and before the program has ended a turn. Otherwise returns undefined.
   */
  hand(to: HandRecord["to"]): Promise<void> | undefined {
    const { isTakenUp, isHanded } = this.state;
    if (!isTakenUp || isHanded === (to === "program")) return undefined;
    this.#seemsDead = to === "program";
    return this.append({ type: "hand", to, at: Date.now() });
  }

  /** Resolves once the record is in the journal. */
  append(record: Exclude<JournalRecord, TurnRecord>): Promise<void> {
    applyRecord(this.state, record);
    return this.#log.append(record);
  }

  /** Like `append`, for a record that must survive a loss of power. */
  appendSafely(record: Exclude<JournalRecord, TurnRecord>): Promise<void> {
    applyRecord(this.state, record);
    return this.#log.appendSafely(record);
  }

  /** Writes the record together with the next one that is appended. */
  defer(record: AnsweredRecord): void {
    applyRecord(this.state, record);
    this.#log.defer(record);
  }

  /** Applies turns, each with the event that began it, to the state. Returns their records, for `deferTurns`. */
  *applyTurns(turns: readonly (readonly [GuestEvent, GuestTurn])[]): SlicedWork<readonly TurnRecord[]> {
    const records: TurnRecord[] = [];
    for (const [{ head, text }, { commands, texts }] of turns) {
      beginTurn(this.state, head);
      let applied = 0;
      for (const command of commands) {
        applyCommand(this.state, command);
        applied += 1;
        if (applied % COMMANDS_PER_SLICE === 0) yield;
      }
      records.push({ type: "turn", event: text, commands: texts });
    }
    return records;
  }

  /** Writes the records of `applyTurns` together with the next append. */
  deferTurns(records: readonly TurnRecord[]): void {
    this.#log.defer(...records);
  }

  /** Resolves once all records so far are in the journal, with those that the gate decides on in the same turn of the event loop. */
  flush(): Promise<void> {
    const written = this.#log.append();
    const live = () => {
      this.#seemsDead = false;
      if (wasRedacted(this.#journal, this.execution)) this.state.unreplayable ??= "redaction";
    };
    written.then(live, () => {});
    return written;
  }

  /** The turns of the journal, in order. They are not kept in memory: a program may have had gigabytes of results. */
  async *turns(): AsyncGenerator<TurnRecord> {
    for await (const record of this.#journal.read(this.#log.execution)) if (record.type === "turn") yield record;
  }

  /** Reads what others have appended. */
  catchUp(): Promise<void> {
    return this.#log.catchUp();
  }

  /** Ends the driving. Without an outcome, another driver may take the execution over at once. */
  async end(hasOutcome: boolean): Promise<void> {
    await this.#noted;
    await this.#log.end(hasOutcome);
  }

  /**
   * Ends the driving of an execution that continues elsewhere. An execution that is left on purpose does not count as
   * the cause of its driver's death.
   */
  async leave(error: PortcullisError): Promise<void> {
    try {
      if (!isHeadMoved(error)) await this.hand("host");
    } catch {
      // The store fails. Its lease ends by itself.
    }
    await this.end(false);
  }

  /** Says that this driver, which lost the execution while the program had the turn, did not die of it. Never rejects. */
  async #noteAlive(driver: string): Promise<void> {
    for (let attempt = 0; attempt < ALIVE_ATTEMPTS; attempt += 1) {
      try {
        const { records, ended } = await this.#journal.find(this.execution);
        if (!ended) await this.#journal.append(this.execution, records, [{ type: "alive", driver, at: Date.now() }]);
        return;
      } catch (error) {
        // The present driver has appended in the meantime. The execution continues without this record too.
        if (!isHeadMoved(error)) return;
      }
    }
  }
}
