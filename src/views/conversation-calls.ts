import type { PastConversation } from "../agent/past-conversation.ts";
import type { Journal } from "../journal/journal.ts";
import { inSlices } from "../values/in-slices.ts";
import { Lane } from "../values/slice-scheduler.ts";
import { CallViews } from "./call-views.ts";
import { EventViews } from "./event-views.ts";
import type { TextRoom } from "./text-room.ts";
import type { CallView, EventView } from "./view.ts";

/** The direct calls of a conversation, and the events beside them. */
export class ConversationCalls {
  readonly #calls: CallViews;
  readonly #events = new EventViews();
  #lastAt = 0;

  private constructor(room: TextRoom) {
    this.#calls = new CallViews(room);
  }

  /** Reads the records again: `past` has the turns without their times. */
  static async read(journal: Journal, past: PastConversation, room: TextRoom): Promise<ConversationCalls> {
    const seen = new ConversationCalls(room);
    const { execution, tenant } = past.header;
    let turn = 0;
    for await (const record of inSlices(journal.read(execution), new Lane(tenant))) {
      if ("at" in record) seen.#lastAt = Math.max(seen.#lastAt, record.at);
      if (record.type === "message" && record.from === "model") {
        seen.#makeCallsOf(past, turn, record.at);
        turn += 1;
      }
      seen.#calls.note(record);
      seen.#events.note(record);
    }
    for (const [index, { results }] of past.turns.entries())
      for (const { callId, text, isError } of results.values())
        seen.#calls.tell(callId, index + 1, { ok: !isError, body: text, at: seen.#lastAt });
    if (past.outcome) seen.#calls.abortOpen();
    return seen;
  }

  get all(): readonly CallView[] {
    return this.#calls.all;
  }

  get events(): readonly EventView[] {
    return this.#events.all;
  }

  get lastAt(): number {
    return this.#lastAt;
  }

  #makeCallsOf({ turns }: PastConversation, turn: number, at: number): void {
    for (const call of turns[turn]?.turn.calls ?? []) {
      if (call.type !== "tool_call") continue;
      const { id, tool, caller, inputText } = call;
      this.#calls.make({ id, tool, caller, inputText, made: turn, at });
    }
  }
}
