import { setTimeout } from "node:timers/promises";
import { boundedFetch, type FetchBounds } from "./bounded-fetch.ts";
import { wellFormedJson } from "./well-formed-json.ts";

/** Time before a request is repeated the first time, in milliseconds, where the provider says none; doubled each time. */
const FIRST_WAIT_MS = 500;
const LONGEST_OWN_WAIT_MS = 8000;
/** Longest time that a provider may ask to wait, in milliseconds. Who asks for more gets no further request. */
const LONGEST_WAIT_MS = 60_000;

/** For an SDK's own clock, which must not stop what is repeated here: the longest that a timer can have, in milliseconds. */
export const NO_TIMEOUT_MS = 2 ** 31 - 1;

export interface RequestBounds extends FetchBounds {
  /** How often one request is repeated at most. */
  readonly retries: number;
}

/**
 * The requests of one conversation, by one rule for all providers, whatever their SDKs do: what leaves is well-formed,
 * what comes is bounded, and what the provider says may be repeated is, after the time it asks for. Waiting ends at
 * once when the request is cancelled.
 */
export class ProviderRequests {
  readonly #send: typeof globalThis.fetch;
  readonly #retries: number;
  #attempts = 0;

  constructor(bounds: RequestBounds) {
    this.#send = boundedFetch(bounds);
    this.#retries = bounds.retries;
  }

  /** How often the last request was sent. */
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
 * Time to wait before a request that was answered like this may be repeated, in milliseconds; undefined where it may
 * not be, or only after longer than is waited for.
 */
export function retryWaitMs(status: number, headers: Headers, attempt: number, now = Date.now()): number | undefined {
  const verdict = headers.get("x-should-retry");
  if (verdict === "false" || (verdict !== "true" && !mayBeRepeated(status))) return undefined;
  const asked = askedWaitMs(headers, now);
  if (asked === undefined) return ownWaitMs(attempt);
  return asked > LONGEST_WAIT_MS ? undefined : asked;
}

function mayBeRepeated(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** `Retry-After` is a number of seconds or a date; some providers say it in milliseconds besides. */
function askedWaitMs(headers: Headers, now: number): number | undefined {
  const milliseconds = decimal(headers.get("retry-after-ms"));
  if (milliseconds !== undefined) return milliseconds;
  const after = headers.get("retry-after");
  const seconds = decimal(after);
  if (seconds !== undefined) return seconds * 1000;
  // Left to itself the parser makes a date of almost anything.
  const date = /^\w{3}, \d\d \w{3} \d{4} /.test(after ?? "") ? Date.parse(after ?? "") : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function decimal(text: string | null): number | undefined {
  return text !== null && /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** Some of it is left to chance, so that many who were refused together do not come back together. */
function ownWaitMs(attempt: number): number {
  return Math.min(LONGEST_OWN_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1)) * (1 - Math.random() / 4);
}

/** Its time was the whole time that one request has. */
function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === "TimeoutError";
}
