import { byteText, type ExecutionId, PortcullisError, type Share, now } from "../../base/index.ts";
import type { AgentScope } from "../agent-scope.ts";
import { createExecution, type DriverOptions, ExecutionLog, type ForeignRecord } from "../../journal/execution-log.ts";
import type { Head, Journal } from "../../journal/journal.ts";
import type { CompactRecord, ConversationHeader, MessageRecord, OutcomeRecord } from "../../journal/record.ts";
import {
  applyTurnRecord,
  type HistoryContent,
  ConversationState,
  type KnownState,
} from "../from-journal/conversation-state.ts";

/**
 * What the history of a conversation holds in memory while a driver has it, or is about to: all histories of a tenant share
 * what they hold, because a model may take its time. Its holder ends it.
 */
export function historyShare({ gate: { held }, tenant }: Pick<AgentScope, "gate" | "tenant">): Share {
  return held.shareOfTenant(tenant);
}

export function holdHistory(history: Share, execution: ExecutionId, bytes: number): void {
  const overdraft = history.hold(bytes);
  if (overdraft)
    throw new PortcullisError(
      "busy",
      `The history of the conversation ${JSON.stringify(execution)} needs ${byteText(history.held + bytes)} of memory or more, and ${byteText(overdraft.allowed)} are free for all conversations of its tenant (createRuntime({ heldBytes })). Nothing was said, and it stays as it was: try again later, or begin a new conversation.`,
    );
}

export async function withHistory<Value>(
  scope: Pick<AgentScope, "gate" | "tenant">,
  work: (history: Share) => Promise<Value>,
): Promise<Value> {
  const history = historyShare(scope);
  try {
    return await work(history);
  } finally {
    history.end();
  }
}

/** The log of a conversation. `content` is what the text of a message or of a shortened history holds. */
export class ConversationLog extends ExecutionLog<KnownState, HistoryContent> {
  readonly isDurable: boolean;

  readonly #history: Share | undefined;

  private constructor(journal: Journal, head: Head, driver: DriverOptions, state: KnownState, history?: Share) {
    super(journal, state.header, head, driver, state, (record, content) => {
      const before = state.bytes;
      applyTurnRecord(state, record, content);
      history?.count(state.bytes - before);
    });
    this.isDurable = journal.isDurable === true;
    this.#history = history;
  }

  static async create(
    journal: Journal,
    header: ConversationHeader,
    driver: DriverOptions,
    history?: Share,
  ): Promise<ConversationLog> {
    const head = await createExecution(journal, header, driver);
    const state = Object.assign(new ConversationState(), { header });
    applyTurnRecord(state, header);
    history?.count(state.bytes);
    return new ConversationLog(journal, head, driver, state, history);
  }

  /**
   * Takes a conversation over in the state of its journal, which `history` holds, and appends these records. Rejects with
   * `head_moved` if others have appended since the state was read.
   */
  static async claim(
    journal: Journal,
    state: KnownState,
    driver: DriverOptions,
    records: readonly (ForeignRecord | OutcomeRecord)[],
    history?: Share,
  ): Promise<ConversationLog> {
    const claimed = [{ type: "claim", ...driver, at: now() } as const, ...records];
    const head = await journal.append(state.header.execution, state.records, claimed);
    for (const record of claimed) applyTurnRecord(state, record);
    return new ConversationLog(journal, head, driver, state, history);
  }

  /** Ends the driving. Without an outcome, another driver may take the conversation over at once. */
  async end(hasOutcome: boolean): Promise<void> {
    try {
      await this.stop(hasOutcome);
    } finally {
      this.#history?.end();
    }
  }
}

/** The record of what happens now, with what its text holds. `opaque` is the provider's state after a turn. */
export function recordOf(
  content: HistoryContent,
  opaque?: string,
  at = now(),
): [MessageRecord | CompactRecord, HistoryContent] {
  if ("history" in content) return [{ type: "compact", history: JSON.stringify(content.history), at }, content];
  const [from, value] =
    "turn" in content
      ? (["model", content.turn] as const)
      : "results" in content
        ? (["host", content.results] as const)
        : (["user", content.said] as const);
  return [{ type: "message", from, message: JSON.stringify(value), opaque, at }, content];
}
