import { monotonic, now, pause, type TextReader } from "../../base/index.ts";
import { boundedFetch, type FetchBounds, NOBODY } from "./bounded-fetch.ts";
import { readParts, type ReplyPart } from "./reply-parts.ts";
import type { TurnRequest } from "../model.ts";

const FIRST_WAIT_MS = 500;
const MAX_OWN_WAIT_MS = 8000;
/** Longest `Retry-After` that is respected, in milliseconds. After a longer one the request is not repeated. */
const MAX_WAIT_MS = 25_000;

/** Timeout for an SDK's own clock, which must not interrupt repetitions: the longest delay of a timer, in milliseconds. */
export const NO_TIMEOUT_MS = 2 ** 31 - 1;

export interface RequestBounds extends FetchBounds {
  readonly stream: boolean;
  readonly retries: number;
  /** Time in which a repetition may begin, from the beginning of the turn, in milliseconds. */
  readonly retryMs: number;
}

type OnRetry = NonNullable<TurnRequest["onRetry"]>;

/**
 * The requests of one conversation, with the same rule for all providers: bodies are well-formed, replies are bounded,
 * and failed requests are repeated as `retryWaitMs` says. A cancelled request stops waiting at once.
 */
export class ProviderRequests {
  readonly #send: typeof globalThis.fetch;
  readonly #bounds: Pick<RequestBounds, "stream" | "retries" | "retryMs">;
  #onRetry: OnRetry = () => {};
  attempts = 0;
  requestId: string | undefined;
  /** Where the last request went, like `http://localhost:11434`. */
  origin: string | undefined;
  /** Whether a request got a reply without an error status, since this was set to false. */
  isAnswered = false;
  /** The last reply without an error status. Nobody has read it. */
  reply: Response = new Response();
  #until = 0;
  #signal: AbortSignal | undefined;
  #reader = NOBODY;
  /** The error of `onRetry`, which ends the turn. */
  stopped: { readonly error: unknown } | undefined;

  constructor(bounds: RequestBounds) {
    this.#send = boundedFetch(bounds, () => this.#reader);
    this.#bounds = bounds;
    this.begin();
  }

  /**
   * Begins a turn, for which long texts are read by `reader`: its attempts and its time are counted anew. `signal` ends its
   * requests. It is taken from here, because the signal of a `Request`, which some SDKs make, is not aborted any more once
   * that is garbage.
   */
  begin(onRetry: OnRetry = () => {}, signal?: AbortSignal, reader: TextReader = NOBODY): void {
    this.#onRetry = onRetry;
    this.#signal = signal;
    this.#reader = reader;
    this.attempts = 0;
    this.#until = monotonic() + this.#bounds.retryMs;
    this.stopped = undefined;
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const signals = [this.#signal, init?.signal].filter((one) => one !== undefined && one !== null);
    const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
    const body = typeof init?.body === "string" ? { body: wellFormedJson(init.body) } : {};
    const sent = { ...init, ...body, ...(signal && { signal }) };
    for (;;) {
      this.attempts += 1;
      this.isAnswered = false;
      this.requestId = undefined;
      this.origin = new URL(input instanceof Request ? input.url : input).origin;
      try {
        const response = await this.#send(input, sent);
        this.requestId = plainId(response.headers.get("request-id") ?? response.headers.get("x-request-id"));
        this.isAnswered = response.ok;
        const waitMs = response.ok ? undefined : retryWaitMs(response.status, response.headers, this.attempts);
        if (response.ok) return this.#standIn(response);
        if (waitMs === undefined || !this.#mayRepeat(waitMs)) return response;
        await response.body?.cancel();
        await this.#wait(`It answered with status ${response.status}.`, waitMs, signal);
      } catch (error) {
        const isTimeout = error instanceof Error && error.name === "TimeoutError";
        if (this.stopped || signal?.aborted || isTimeout) throw error;
        if (!(await this.waitToRepeat("It could not be reached.", signal))) throw error;
      }
    }
  };

  /**
   * A reply without content, for the SDK: by what was asked for it would read what a server may have sent otherwise, and
   * fail without the server's words.
   */
  #standIn(response: Response): Response {
    this.reply = response;
    return this.#bounds.stream
      ? new Response("", { headers: { "content-type": "text/event-stream" } })
      : new Response("{}", { headers: { "content-type": "application/json" } });
  }

  parts(): AsyncGenerator<ReplyPart> {
    return readParts(this.reply);
  }

  /** Waits before the turn is asked for again, and resolves with true; false if it may not be. */
  async waitToRepeat(reason: string, signal: AbortSignal | undefined): Promise<boolean> {
    const waitMs = ownWaitMs(this.attempts);
    if (!this.#mayRepeat(waitMs)) return false;
    await this.#wait(reason, waitMs, signal);
    return true;
  }

  #mayRepeat(waitMs: number): boolean {
    return this.attempts <= this.#bounds.retries && monotonic() + waitMs <= this.#until;
  }

  async #wait(reason: string, waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#onRetry({ attempt: this.attempts, reason, delayMs: Math.round(waitMs) });
    } catch (error) {
      this.stopped = { error };
      throw error;
    }
    await pause(waitMs, { signal });
    signal?.throwIfAborted();
  }
}

/** An id that a provider sent; undefined if it has characters that ids do not have, or is long. */
export function plainId(id: string | null | undefined): string | undefined {
  return id && /^[\w.:/-]{1,128}$/.test(id) ? id : undefined;
}

/**
 * Time to wait before a request with this response may be repeated, in milliseconds. Undefined if it may not be, or if
 * the provider asks for a longer wait than is respected.
 */
export function retryWaitMs(status: number, headers: Headers, attempt: number): number | undefined {
  const verdict = headers.get("x-should-retry");
  const mayPass = status === 408 || status === 409 || status === 429 || status >= 500;
  if (verdict === "false" || (verdict !== "true" && !mayPass)) return undefined;
  const asked = askedWaitMs(headers);
  if (asked === undefined) return ownWaitMs(attempt);
  return asked > MAX_WAIT_MS ? undefined : asked;
}

/** `Retry-After` is a number of seconds or a date; some providers also send `retry-after-ms`. */
function askedWaitMs(headers: Headers): number | undefined {
  const milliseconds = decimal(headers.get("retry-after-ms"));
  if (milliseconds !== undefined) return milliseconds;
  const after = headers.get("retry-after");
  const seconds = decimal(after);
  if (seconds !== undefined) return seconds * 1000;
  // `Date.parse` accepts almost any text.
  const date = /^\w{3}, \d\d \w{3} \d{4} /.test(after ?? "") ? Date.parse(after ?? "") : NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now());
}

function decimal(text: string | null): number | undefined {
  return text !== null && /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/** A part is random, so that clients that were refused together do not return together. */
function ownWaitMs(attempt: number): number {
  return Math.min(MAX_OWN_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1)) * (1 - Math.random() / 4);
}

/**
 * The JSON text with U+FFFD for each lone surrogate. Some providers refuse a whole request for half of a character, and
 * UTF-8 cannot hold it. `JSON.stringify` writes pairs as they are, so every escaped surrogate is a lone one.
 */
function wellFormedJson(text: string): string {
  if (!text.includes("\\ud")) return text;
  return text.replaceAll(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (escape) => (escape.length === 6 ? "\ufffd" : escape));
}
