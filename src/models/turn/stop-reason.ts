import type { TurnEnd } from "../model.ts";

/** Words for a turn that is not whole. Servers have words of their own for whole turns, like `eos_token` or `TOOL_CALLS`. */
const NOT_WHOLE =
  /length|limit|max|context|budget|exceed|truncat|incomplete|partial|queued|progress|continu|cancel|abort|interrupt|time.?out|error|fail|malformed|unexpected|too_many|missing|unspecified|^other$|^no_/i;
const REFUSED =
  /filter|safety|refus|block|prohibit|recitation|spii|armor|^language$|moderation|policy|violation|sensitive/i;

/** What a provider's word for the end of a turn says: a turn is whole unless its word says otherwise. */
export function endSaidBy(reason: string): "whole" | "refused" | "cut_off" {
  if (REFUSED.test(reason)) return "refused";
  return NOT_WHOLE.test(reason) ? "cut_off" : "whole";
}

/** Characters of a provider's word that are told: a server may say anything. */
const REASON_LENGTH = 100;

export function endBy(reason: string, refusal?: string): TurnEnd {
  const type = endSaidBy(reason);
  if (type === "whole") return { type: "answered" };
  return { type, reason: (type === "refused" ? refusal : undefined) ?? reason.slice(0, REASON_LENGTH) };
}

/**
 * The reason that counts for a streamed reply with several reasons: a reason that says that the reply is not whole, and
 * otherwise the last. Some servers send empty reasons before.
 */
export function decisiveReason(before: string | undefined, next: string | undefined): string | undefined {
  if (before !== undefined && endSaidBy(before) !== "whole") return before;
  return next === undefined || next === "" ? before : next;
}
