import { dollarsOf, type Price } from "../../models/prices.ts";
import type { Model, ModelUsage, TurnReply } from "../../models/model.ts";

/** Maximum number of tokens that a turn may write. A turn without reported usage is priced as if it wrote as many as it was allowed. */
const MAX_TOKENS = 16_000;
/** Minimum number of tokens that a turn must be allowed to write: with fewer, most would be cut off. */
const MIN_TOKENS = 1000;
/** Upper bounds of the tokens that a provider adds: at the start of a conversation, to explain tools, and around each result. */
const PREAMBLE_TOKENS = 1000;
const RESULT_TOKENS = 200;

/** Begins no turn whose maximum cost would exceed the budget, and limits the output of each turn to what the rest pays for. */
export function capSpending(model: Model, price: Price, maxUsd: number) {
  let usd = 0;
  let spent = false;
  const paid: Model = {
    name: model.name,
    hostsPrograms: model.hostsPrograms,
    async converse(opening) {
      const conversation = await model.converse(opening);
      // A text has at most as many tokens as bytes, in every encoding.
      let readTokens = PREAMBLE_TOKENS + Buffer.byteLength(JSON.stringify(opening));
      return {
        get opaque() {
          return conversation.opaque;
        },
        get holdsMessages() {
          return conversation.holdsMessages === true;
        },
        // Only if the model's own conversation has these methods: their absence has a meaning.
        ...(conversation.restore && {
          restore(turn, opaque) {
            readTokens += Buffer.byteLength(opaque ?? JSON.stringify(turn));
            conversation.restore?.(turn, opaque);
          },
        }),
        ...(conversation.declare && {
          declare(tools) {
            readTokens += Buffer.byteLength(JSON.stringify(tools));
            conversation.declare?.(tools);
          },
        }),
        say(message) {
          readTokens += Buffer.byteLength(typeof message === "string" ? message : JSON.stringify(message));
          conversation.say(message);
        },
        async turn(request) {
          const left = maxUsd - usd - dollarsOf({ ...NOTHING, inputTokens: readTokens }, price);
          const maxTokens = Math.min(request.maxTokens, MAX_TOKENS, Math.floor((left * 1_000_000) / price.output));
          // If output is free and nothing is left, the division gives NaN.
          if (!(maxTokens >= MIN_TOKENS)) {
            spent = true;
            return { type: "aborted" };
          }
          const reply = await conversation.turn({ ...request, maxTokens });
          const used = usageOf(reply, { ...NOTHING, inputTokens: readTokens, outputTokens: maxTokens });
          usd += dollarsOf(used, price);
          readTokens = used.inputTokens + used.outputTokens;
          if (reply.type === "turn" && reply.end.type === "cut_off") spent ||= used.outputTokens >= maxTokens;
          return reply;
        },
        answer(results) {
          for (const { text, parts } of results)
            readTokens += RESULT_TOKENS + Buffer.byteLength(text) + Buffer.byteLength(JSON.stringify(parts ?? []));
          conversation.answer(results);
        },
      };
    },
  };
  return {
    model: paid,
    /** Upper bound of the dollars spent so far. */
    usd: () => usd,
    /** Whether a turn was not begun, or was cut off, because the dollars did not suffice. */
    isSpent: () => spent,
  };
}

const NOTHING: ModelUsage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };

/** A turn without reported usage is priced at its maximum. A request that was refused or did not arrive cost nothing. */
function usageOf(reply: TurnReply, max: ModelUsage): ModelUsage {
  if (reply.type === "aborted") return max;
  if (reply.usage !== undefined && reply.usage.inputTokens > 0) return reply.usage;
  const isFree = reply.type === "failed" && (reply.failure.status ?? 0) >= 400;
  return isFree || (reply.type === "failed" && reply.failure.code === "unreachable") ? NOTHING : max;
}
