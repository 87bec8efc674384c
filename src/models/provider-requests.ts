import { setTimeout } from "node:timers/promises";
import { boundedFetch, type FetchBounds } from "./bounded-fetch.ts";
import { wellFormedJson } from "./well-formed-json.ts";

/** Wait before the first repetition, in milliseconds, without a `Retry-After`; doubled each time. */
const FIRST_WAIT_MS = 500;
const MAX_OWN_WAIT_MS = 8000;
/** Longest `Retry-After` that is respected, in milliseconds. After a longer one the request is not repeated. */
const MAX_WAIT_MS = 60_000;

/** Timeout for an SDK's own clock, which must not interrupt repetitions: the longest delay of a timer, in milliseconds. */
export const NO_TIMEOUT_MS = 2 ** 31 - 1;

export interface RequestBounds extends FetchBounds {
  /** Maximum of repetitions of one request. */
  readonly retries: number;
}

/**
 * The requests of one conversation, with the same rule for all providers: bodies are well-formed, replies are bounded,
 * and a failed request is repeated as `retryWaitMs` says. A cancelled request stops waiting at once.
 */
export class ProviderRequests {
  readonly #send: typeof globalThis.fetch;
  readonly #retries: number;
  #attempts = 0;

  constructor(bounds: RequestBounds) {
    this.#send = boundedFetch(bounds);
    this.#retries = bounds.retries;
  }

  /** Attempts of the last request. */
  get attempts(): number {
    return this.#attempts;
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const sent = typeof init?.body === "string" ? { ...init, body: wellFormedJson(init.body) } : init;
    for (this.#attempts = 1; ; this.#attempts += 1) {
      const isLast = this.#attempts > this.#retries;
      let waitMs: number | undefined;
      try {
        const response = await this.#send(input, sent);
        waitMs = response.ok ? undefined : retryWaitMs(response.status, response.headers, this.#attempts);
        if (isLast || waitMs === undefined) return response;
        await response.body?.cancel();
      } catch (error) {
        if (isLast || sent?.signal?.aborted || isTimeout(error)) throw error;
        waitMs = ownWaitMs(this.#attempts);
      }
      await setTimeout(waitMs, undefined, sent?.signal ? { signal: sent.signal } : {});
    }
  };
}

/**
 * Time to wait before a request with this response may be repeated, in milliseconds; undefined where it may not be, or
 * where the provider asks for a longer wait than is respected.
 */
export function retryWaitMs(status: number, headers: Headers, attempt: number, now = Date.now()): number | undefined {
  const verdict = headers.get("x-should-retry");
  if (verdict === "false" || (verdict !== "true" && !mayBeRepeated(status))) return undefined;
  const asked = askedWaitMs(headers, now);
  if (asked === undefined) return ownWaitMs(attempt);
  return asked > MAX_WAIT_MS ? undefined : asked;
}

function mayBeRepeated(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** `Retry-After` is a number of seconds or a date; some providers also send `retry-after-ms`. */
function askedWaitMs(headers: Headers, now: number): number | undefined {
  const milliseconds = decimal(headers.get("retry-after-ms"));
  if (milliseconds !== undefined) return milliseconds;
  const after = headers.get("retry-after");
  const seconds = decimal(after);
  if (seconds !== undefined) return seconds * 1000;
  // `Date.parse` accepts almost any text.
  const date = /^\w{3}, \d\d \w{3} \d{4} /.test(after ?? "") ? Date.parse(after ?? "") : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function decimal(text: string | null): number | undefined {
  return text !== null && /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** A part is random, so that clients that were refused together do not return together. */
function ownWaitMs(attempt: number): number {
  return Math.min(MAX_OWN_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1)) * (1 - Math.random() / 4);
}

/** A request that timed out is not repeated. */
function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === "TimeoutError";
}
