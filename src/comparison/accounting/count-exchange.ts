import type { RequestPart, RequestParts } from "../wires/wire.ts";

/** Tokens of the envelope of each call and each result: roles, ids, delimiters. An assumption, because providers do not publish it. */
export const ENVELOPE_TOKENS = 10;

/** A conversation in tokens: its beginning, and what each turn adds. */
export interface Exchange {
  readonly instructions: number;
  readonly definitions: number;
  readonly question: number;
  readonly turns: readonly ExchangeTurn[];
  /** Nothing of its requests is kept for the next: its cost is that without a cache. */
  readonly isUncached?: boolean;
}

/** One turn of the model. The last turn calls nothing: its words are the answer. */
export interface ExchangeTurn {
  /** Text that the model wrote beside calls. */
  readonly words: number;
  readonly calls: readonly ExchangeCall[];
}

export interface ExchangeCall {
  /** Tokens that the model wrote to make the call. */
  readonly written: number;
  /** Tokens of the call's result. */
  readonly read: number;
}

export type TokenCounter = (text: string) => number;

/** A counter with a cache: the same results occur in the requests of several modes and providers. */
export function countOnce(count: TokenCounter): TokenCounter {
  const counted = new Map<string, number>();
  return (text) => {
    let tokens = counted.get(text);
    if (tokens === undefined) counted.set(text, (tokens = count(text)));
    return tokens;
  };
}

/** Counts a conversation by its last request and the answer to it. Throws if a call has no result. */
export function exchangeOf(
  { instructions, definitions, parts, isCached }: RequestParts,
  answer: string,
  count: TokenCounter,
): Exchange {
  const results = new Map(parts.flatMap((part) => (part.type === "result" ? [[part.callId, part.text] as const] : [])));
  const readOf = (callId: string) => {
    const text = results.get(callId);
    if (text === undefined) throw new Error(`The call ${callId} has no result in the request.`);
    return count(text) + ENVELOPE_TOKENS;
  };
  const turnOf = (own: readonly RequestPart[]): ExchangeTurn => ({
    words: sum(own.map((part) => (part.type === "words" ? count(part.text) : 0))),
    calls: own.flatMap((part) =>
      part.type === "call"
        ? [{ written: count(part.name) + count(part.text) + ENVELOPE_TOKENS, read: readOf(part.callId) }]
        : [],
    ),
  });
  return {
    instructions: count(instructions),
    definitions: count(definitions),
    question: sum(parts.map((part) => (part.type === "said" ? count(part.text) : 0))),
    turns: [...turnsOf(parts).map(turnOf), { words: count(answer), calls: [] }],
    ...(isCached ? {} : { isUncached: true }),
  };
}

/** The same calls with at most `atOnce` of them in a turn. */
export function regroup(exchange: Exchange, atOnce: number): Exchange {
  const turns = exchange.turns.flatMap(({ words, calls }) => {
    const turnCount = Math.max(1, Math.ceil(calls.length / atOnce));
    return Array.from({ length: turnCount }, (_, turn) => ({
      words: turn === 0 ? words : 0,
      calls: calls.slice(turn * atOnce, (turn + 1) * atOnce),
    }));
  });
  return { ...exchange, turns };
}

/** The parts that the model wrote, turn by turn. A turn ends at a part that it did not write. */
function turnsOf(parts: readonly RequestPart[]): RequestPart[][] {
  const turns: RequestPart[][] = [];
  let isNew = true;
  for (const part of parts) {
    const isOwn = part.type === "words" || part.type === "call";
    if (isOwn && isNew) turns.push([]);
    if (isOwn) turns.at(-1)?.push(part);
    isNew = !isOwn;
  }
  return turns;
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
