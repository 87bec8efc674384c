import { now, type PortcullisError, type SlicedWork } from "../../base/index.ts";
import type { GuestTurn } from "../../../bridge/turn-reader.ts";
import {
  createExecution,
  type DriverOptions,
  ExecutionLog,
  type ForeignRecord,
  isHeadMoved,
} from "../../journal/execution-log.ts";
import type { Head, Journal } from "../../journal/journal.ts";
import { readRecords } from "../../journal/reading/read-records.ts";
import type { HandRecord, Header, OutcomeRecord, TurnRecord } from "../../journal/record.ts";
import {
  applyCommand,
  applyHeader,
  applyRecord,
  beginTurn,
  endTurn,
  ExecutionState,
  shownText,
} from "./execution-state.ts";
import { wasRedacted } from "../../journal/redaction/redacting-journal.ts";
import type { GuestEvent } from "../guest/guest-event.ts";
import { turnsOf } from "../guest/replay-turns.ts";

/** Commands that are applied before the host's thread may be yielded. A turn may have a hundred thousand commands. */
export const COMMANDS_PER_SLICE = 256;

/** The part of `totalBytes` that a journal in memory keeps of streams. */
const STREAMS_PART = 0.25;

/** How often a driver that lost an execution tries to append that it is alive, between the appends of the present driver. */
const ALIVE_ATTEMPTS = 10;

export class TrackedLog extends ExecutionLog<ExecutionState> {
  readonly #journal: Journal;
  /** Whether the journal, if nothing more is appended to it, lets this driver seem to have died while the program had the turn. */
  #seemsDead = false;
  /** Length of the items of streams that a journal in memory keeps, in UTF-16 code units; infinite once it keeps no more. */
  #itemsLength: number;
  /** Resolves once the journal knows that this driver is alive, if it needs to. */
  #noted: Promise<void> = Promise.resolve();

  private constructor(journal: Journal, header: Header, head: Head, driver: DriverOptions, state: ExecutionState) {
    super(journal, header, head, driver, state, (record) => applyRecord(state, record));
    this.#journal = journal;
    this.#itemsLength = state.used.keptItemsBytes;
  }

  static async create(journal: Journal, header: Header, driver: DriverOptions): Promise<TrackedLog> {
    const head = await createExecution(journal, header, driver);
    const state = new ExecutionState();
    applyHeader(state, header);
    return new TrackedLog(journal, header, head, driver, state);
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
    const claimed = [{ type: "claim", ...driver, at: now() } as const, ...records];
    const head = await journal.append(header.execution, state.records, claimed);
    for (const record of claimed) applyRecord(state, record);
    return new TrackedLog(journal, header, head, driver, state);
  }

  get isDurable(): boolean {
    return this.#journal.isDurable === true;
  }

  inputOf(id: number): string | undefined {
    const call = this.state.calls.get(id);
    return call && shownText(call);
  }

  protected override beforeFenced(): void {
    const { latest } = this.state.drivers;
    if (this.#seemsDead && latest !== undefined) this.#noted = this.#noteAlive(latest);
  }

  /**
   * Journals who has the turn, as long as a driver that dies may have died of the program: after the execution was taken
   * up, and before the program has ended a turn. Otherwise returns undefined.
   */
  hand(to: HandRecord["to"]): Promise<void> | undefined {
    const { isTakenUp, isHanded } = this.state.drivers;
    if (!isTakenUp || isHanded === (to === "program")) return undefined;
    this.#seemsDead = to === "program";
    return this.append({ type: "hand", to, at: now() });
  }

  /** Applies turns to the state, each with its event. `usage` is as of the last. Returns records for `deferTurns`. */
  *applyTurns(
    turns: readonly (readonly [GuestEvent, GuestTurn])[],
    usage?: TurnRecord["usage"],
  ): SlicedWork<readonly TurnRecord[]> {
    const records: TurnRecord[] = [];
    for (const [event, { commands, texts }] of turns) {
      const { head, text } = event.recorded ?? event;
      beginTurn(this.state, head);
      let applied = 0;
      for (const command of commands) {
        applyCommand(this.state, command);
        applied += 1;
        if (applied % COMMANDS_PER_SLICE === 0) yield;
      }
      const noted = records.length + 1 === turns.length ? usage : undefined;
      endTurn(this.state, noted);
      records.push({ type: "turn", event: text, commands: texts, usage: noted });
    }
    return records;
  }

  /**
   * Whether the journal keeps a text of items: a journal in memory keeps no more of streams than a part of `totalBytes`, and
   * none after the first that it does not keep, because they could not be replayed.
   */
  keepsItems(text: string): boolean {
    if (this.isDurable) return true;
    const { totalBytes = 0 } = this.state.header?.limits ?? {};
    this.#itemsLength += text.length;
    if (this.#itemsLength > totalBytes * STREAMS_PART) this.#itemsLength = Infinity;
    return this.#itemsLength !== Infinity;
  }

  /**
   * Goes on with `goOn` once all records so far are in the journal, with those that the gate decides on in the same turn of
   * the event loop.
   */
  flush<Value>(goOn: () => Value): Promise<Awaited<Value>> {
    return this.append().then(() => {
      this.#seemsDead = false;
      if (wasRedacted(this.#journal, this.execution)) this.state.unreplayable ??= "redaction";
      return goOn() as Awaited<Value>;
    });
  }

  turns(): AsyncGenerator<TurnRecord, void, undefined> {
    const { tenant = "" } = this.state.header ?? {};
    return turnsOf(readRecords(this.#journal, this.execution, { tenant, mayWait: true }));
  }

  /** Ends the driving, with this outcome. Without an outcome, another driver may take the execution over at once. */
  async end(outcome?: OutcomeRecord): Promise<void> {
    try {
      if (outcome) await this.append(outcome);
    } finally {
      // Also if the outcome could not be written: another driver writes it once the lease has ended.
      await this.#noted;
      await this.stop(outcome !== undefined);
    }
  }

  /**
   * Ends the driving of an execution that continues elsewhere. An execution that is left on purpose does not count as
   * the cause of its driver's death.
   */
  async leave(error: PortcullisError): Promise<void> {
    try {
      if (!isHeadMoved(error)) await this.hand("host");
    } catch {
      // The store fails. The lease ends by itself.
    }
    await this.end();
  }

  /** Says that this driver, which lost the execution while the program had the turn, did not die of it. Never rejects. */
  async #noteAlive(driver: string): Promise<void> {
    for (let attempt = 0; attempt < ALIVE_ATTEMPTS; attempt += 1) {
      try {
        const { records, ended } = await this.#journal.find(this.execution);
        if (!ended) await this.#journal.append(this.execution, records, [{ type: "alive", driver, at: now() }]);
        return;
      } catch (error) {
        // The present driver has appended in the meantime. The execution continues without this record too.
        if (!isHeadMoved(error)) return;
      }
    }
  }
}
