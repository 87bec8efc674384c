import { dollarsOf, type Price } from "../accounting/prices.ts";
import type { CallResult, Model, ModelUsage, TurnReply } from "../../models/model.ts";

/** A model that is asked only what can be paid for. */
export interface PaidModel {
  readonly model: Model;
  /** Dollars spent so far, at most. */
  readonly usd: () => number;
  /** Whether a turn was not asked, or was cut off, for want of dollars. */
  readonly isSpent: () => boolean;
}

/** Tokens that a turn may write at most, and by which one is weighed that nobody counts. */
const MAX_TOKENS = 16_000;
/** Tokens that a turn must be able to write; one that may write fewer would only be cut off. */
const MIN_TOKENS = 1000;
/** Tokens that a provider puts in by itself: before a conversation, of how tools are used, and round each result. */
const PREAMBLE_TOKENS = 1000;
const RESULT_TOKENS = 200;

/** Lets no turn begin whose dearest outcome would pass the dollars, and lets each write no more than what is left pays for. */
export function capSpending(model: Model, price: Price, maxUsd: number): PaidModel {
  let usd = 0;
  let spent = false;
  return {
    model: {
      name: model.name,
      hostsPrograms: model.hostsPrograms,
      async converse(opening) {
        const conversation = await model.converse(opening);
        // No encoding makes more tokens of a text than it has bytes.
        let readTokens = PREAMBLE_TOKENS + Buffer.byteLength(JSON.stringify(opening));
        return {
          say(text) {
            readTokens += Buffer.byteLength(text);
            conversation.say(text);
          },
          async turn(request) {
            const left = maxUsd - usd - dollarsOf({ ...NOTHING, inputTokens: readTokens }, price);
            const maxTokens = Math.min(request.mostTokens, MAX_TOKENS, Math.floor((left * 1_000_000) / price.output));
            // Where writing costs nothing and nothing is left, the division has no result.
            if (!(maxTokens >= MIN_TOKENS)) {
              spent = true;
              return { type: "aborted" };
            }
            const reply = await conversation.turn({ ...request, mostTokens: maxTokens });
            const used = usageOf(reply, { ...NOTHING, inputTokens: readTokens, outputTokens: maxTokens });
            usd += dollarsOf(used, price);
            readTokens = used.inputTokens + used.outputTokens;
            if (reply.type === "turn" && reply.end.type === "cut_off") spent ||= used.outputTokens >= maxTokens;
            return reply;
          },
          answer(results: readonly CallResult[]) {
            for (const { text } of results) readTokens += RESULT_TOKENS + Buffer.byteLength(text);
            conversation.answer(results);
          },
        };
      },
    },
    usd: () => usd,
    isSpent: () => spent,
  };
}

const NOTHING: ModelUsage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };

/** What a provider has not counted may have cost the most; what it has refused, or never got, cost nothing. */
function usageOf(reply: TurnReply, max: ModelUsage): ModelUsage {
  if (reply.type === "aborted") return max;
  if (reply.usage !== undefined && reply.usage.inputTokens > 0) return reply.usage;
  const isFree = reply.type === "failed" && (reply.failure.status ?? 0) >= 400;
  return isFree || (reply.type === "failed" && reply.failure.code === "unreachable") ? NOTHING : max;
}
