import { countTokens } from "../tools/count-tokens.ts";
import type { ModelRequest, RequestPart } from "./requests.ts";

/** Tokens of the envelope of each call and each result: roles, ids, delimiters. An assumption, because providers do not publish it. */
export const ENVELOPE_TOKENS = 10;

/** Tokens of a conversation that pass through its model. Every turn reads the whole conversation before it again. */
export interface Spent {
  readonly turns: number;
  /** Tokens read, over all turns. */
  readonly input: number;
  /** Tokens written: calls, programs, text, the answer. */
  readonly output: number;
  /** Tokens of the largest context. */
  readonly peak: number;
  /** Of `input`: the context of the turn before, which a cache can hold. */
  readonly cacheable: number;
}

/** A counter with a cache: the same results occur in the requests of several modes and providers. */
export function countOnce(): (text: string) => number {
  const counted = new Map<string, number>();
  return (text) => {
    const tokens = counted.get(text) ?? countTokens(text);
    counted.set(text, tokens);
    return tokens;
  };
}

/** Counts a conversation by its last request, which repeats all before it, and the answer to it. */
export function spentBy(
  { instructions, definitions, parts }: ModelRequest,
  answer: string,
  count: (text: string) => number,
): Spent {
  const contexts: number[] = [];
  let context = count(instructions) + count(definitions);
  let output = count(answer);
  let before: RequestPart["kind"] = "said";
  for (const { kind, texts } of parts) {
    const isOwn = kind === "words" || kind === "call";
    if (isOwn && before !== "words" && before !== "call") contexts.push(context);
    const envelope = kind === "call" || kind === "result" ? ENVELOPE_TOKENS : 0;
    const tokens = sum(texts.map(count)) + envelope;
    context += tokens;
    if (isOwn) output += tokens;
    before = kind;
  }
  contexts.push(context);
  const input = sum(contexts);
  return { turns: contexts.length, input, output, peak: context, cacheable: input - context };
}

/** The usual ratios of prices to that of uncached input: of input from a cache, of input that is written to it, and of output. */
const [CACHE_READ, CACHE_WRITE, WRITTEN] = [0.1, 1.25, 5];

/**
 * Cost in tokens of uncached input, other tokens weighted by the usual ratios of prices: what was read in the turn before
 * comes from a cache, and the rest is written to it.
 */
export function costOf({ input, output, cacheable }: Spent): number {
  return cacheable * CACHE_READ + (input - cacheable) * CACHE_WRITE + output * WRITTEN;
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
