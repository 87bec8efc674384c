import type { ExecutionId } from "../base/index.ts";
import type { ExecutionLog, ForeignRecord } from "./execution-log.ts";
import type { Head } from "./journal.ts";
import type { JournalRecord, TurnRecord } from "./record.ts";

/** A record that is appended by itself. Turns are appended together. */
export type OneRecord = Exclude<JournalRecord, TurnRecord>;

/**
 * Appends to an execution's journal and keeps the state derived from its records. A record changes the state when it is
 * passed in, so the state is ahead of the journal by the records being written. `Content` is what the text of a record
 * holds, for a state that keeps it.
 */
export class StateLog<State, Content = never> {
  readonly state: State;
  protected readonly log: ExecutionLog;
  readonly #apply: (state: State, record: OneRecord, content?: Content) => void;
  onForeign: ((records: readonly ForeignRecord[]) => void) | undefined;

  constructor(log: ExecutionLog, state: State, apply: (state: State, record: OneRecord, content?: Content) => void) {
    this.log = log;
    this.state = state;
    this.#apply = apply;
    log.onForeign = (records) => {
      for (const record of records) apply(state, record);
      this.onForeign?.(records);
    };
  }

  get execution(): ExecutionId {
    return this.log.execution;
  }

  /** Number of records that are known to be in the journal. */
  get position(): Head {
    return this.log.position;
  }

  /** Called once if another driver has taken the execution over. */
  set onFenced(onFenced: (error: unknown) => void) {
    this.log.onFenced = onFenced;
  }

  append(record: OneRecord, content?: Content): Promise<void> {
    this.#apply(this.state, record, content);
    return this.log.append(record);
  }

  /** Like `append`, for a record that must survive a loss of power. */
  appendSafely(record: OneRecord): Promise<void> {
    this.#apply(this.state, record);
    return this.log.appendSafely(record);
  }

  /** Writes the record together with the next one that is appended. */
  defer(record: OneRecord, content?: Content): void {
    this.#apply(this.state, record, content);
    this.log.defer(record);
  }

  writeDeferred(): Promise<void> {
    return this.log.append();
  }

  /** Reads what others have appended, if there are records below `head` that are not its own. */
  catchUp(head?: Head): Promise<void> {
    return this.log.catchUp(head);
  }
}
