import type { TurnEnd, TurnReply } from "../../models/model.ts";
import type { ChatEnd, WorkEnd } from "../../telemetry/telemetry.ts";
import type { AgentEnding } from "../ending.ts";

const FINISH_OF_EACH_END: Readonly<Record<TurnEnd["type"], string>> = {
  answered: "stop",
  called: "tool_calls",
  unfinished: "unfinished",
  refused: "content_filter",
  cut_off: "length",
};

export function endOfTurn(reply: TurnReply): ChatEnd {
  switch (reply.type) {
    case "turn":
      return { finish: FINISH_OF_EACH_END[reply.end.type], usage: reply.usage };
    case "failed":
      return { code: reply.failure.code, usage: reply.usage };
    case "aborted":
      return { code: "aborted" };
  }
}

/** Endings without a code: the model has answered, or the conversation goes on later. */
const GOOD: ReadonlySet<string> = new Set(["answered", "stopped", "waiting"]);

/** `ending` is missing after one turn alone, whose calls are for the host to answer. */
export function endOfConversation(ending: AgentEnding | undefined): WorkEnd {
  if (!ending) return { outcome: "turn" };
  if (GOOD.has(ending.type)) return { outcome: ending.type };
  const code = ending.type === "provider_failed" ? ending.failure.code : ending.type;
  return { outcome: ending.type, code };
}
