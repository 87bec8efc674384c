import type { GateLog } from "../../gate/call-ledger.ts";
import type { ArtifactLog } from "../../journal/artifact-space.ts";
import type { ExecutionId } from "../../journal/execution-id.ts";
import { type DriverOptions, ExecutionLog, type ForeignRecord } from "../../journal/execution-log.ts";
import type { Journal } from "../../journal/journal.ts";
import type {
  CompactRecord,
  ConversationHeader,
  JournalRecord,
  MessageRecord,
  OutcomeRecord,
} from "../../journal/record.ts";
import { applyRecord, type Content, ConversationState, type KnownState } from "../from-journal/conversation-state.ts";

/**
 * Appends to a conversation's journal and keeps the state derived from its records. A record changes the state when it is
 * passed in, so the state is ahead of the journal by the records being written.
 */
export class ConversationLog implements GateLog, ArtifactLog {
  readonly state: KnownState;
  readonly #log: ExecutionLog;
  /** Called with records that others have appended. */
  onForeign: ((records: readonly ForeignRecord[]) => void) | undefined;

  private constructor(log: ExecutionLog, state: KnownState) {
    this.#log = log;
    this.state = state;
    log.onForeign = (records) => {
      for (const record of records) applyRecord(state, record);
      this.onForeign?.(records);
    };
  }

  static async create(journal: Journal, header: ConversationHeader, driver: DriverOptions): Promise<ConversationLog> {
    const log = await ExecutionLog.create(journal, header, driver);
    const state = Object.assign(new ConversationState(), { header });
    applyRecord(state, header);
    return new ConversationLog(log, state);
  }

  /**
   * Takes a conversation over in the state of its journal, and appends these records. Rejects with `head_moved` if others
   * have appended since the state was read.
   */
  static async claim(
    journal: Journal,
    state: KnownState,
    driver: DriverOptions,
    records: readonly (ForeignRecord | OutcomeRecord)[],
  ): Promise<ConversationLog> {
    const claimed = [{ type: "claim", ...driver, at: Date.now() } as const, ...records];
    const log = await ExecutionLog.claim(journal, state.header, state.records, driver, claimed);
    for (const record of claimed) applyRecord(state, record);
    return new ConversationLog(log, state);
  }

  get execution(): ExecutionId {
    return this.#log.execution;
  }

  get position(): number {
    return this.#log.position;
  }

  /** Called once if another driver has taken the conversation over. */
  set onFenced(onFenced: (error: unknown) => void) {
    this.#log.onFenced = onFenced;
  }

  /** Resolves once the record is in the journal. `content` is what its text holds, for a message or a shortened history. */
  append(record: JournalRecord, content?: Content): Promise<void> {
    applyRecord(this.state, record, content);
    return this.#log.append(record);
  }

  /** Like `append`, for a record that must survive a loss of power. */
  appendSafely(record: JournalRecord): Promise<void> {
    applyRecord(this.state, record);
    return this.#log.appendSafely(record);
  }

  /** Writes the record together with the next one that is appended. */
  defer(record: JournalRecord, content?: Content): void {
    applyRecord(this.state, record, content);
    this.#log.defer(record);
  }

  /** Reads what others have appended. */
  catchUp(): Promise<void> {
    return this.#log.catchUp();
  }

  /** Ends the driving. Without an outcome, another driver may take the conversation over at once. */
  end(hasOutcome: boolean): Promise<void> {
    return this.#log.end(hasOutcome);
  }
}

/** The record of what happens now, with what its text holds. `opaque` is the provider's state after a turn. */
export function recordOf(content: Content, opaque?: string): [MessageRecord | CompactRecord, Content] {
  const at = Date.now();
  if ("history" in content) return [{ type: "compact", history: JSON.stringify(content.history), at }, content];
  const [from, value] =
    "turn" in content
      ? (["model", content.turn] as const)
      : "results" in content
        ? (["host", content.results] as const)
        : (["user", content.said] as const);
  const sealed = opaque === undefined ? {} : { opaque };
  return [{ type: "message", from, message: JSON.stringify(value), ...sealed, at }, content];
}
