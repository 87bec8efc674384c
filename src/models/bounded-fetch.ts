/** Maximum size of a reply. The largest replies of providers have a few megabytes of text and signatures. */
const REPLY_BYTES = 32 * 1024 * 1024;

/** Maximum size of an event of a stream. An event is held in memory until it is complete. */
const EVENT_BYTES = 4 * 1024 * 1024;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** The reply, or an event of it, is larger than its limit. */
export class ReplyTooLarge extends Error {
  override readonly name = "ReplyTooLarge";
}

/** Bounds of one request. `timeoutMs` covers the time from sending it to the end of its reply. */
export interface FetchBounds {
  readonly timeoutMs: number;
  readonly stream: boolean;
  readonly fetch: typeof globalThis.fetch;
}

/**
 * A `fetch` for SDKs. It aborts a reply that is too large before the SDK parses it, and one that takes too long: SDKs
 * measure only the time to the headers. It follows no redirection, because that would send the key to another host.
 */
export function boundedFetch(
  { timeoutMs, stream, fetch }: FetchBounds,
  maxBytes = REPLY_BYTES,
): typeof globalThis.fetch {
  return async (input, init) => {
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = init?.signal ? AbortSignal.any([init.signal, timeout]) : timeout;
    const response = await fetch(input, { ...init, redirect: "error", signal });
    if (!response.body) return response;
    let bytes = 0;
    const events = new EventCutter();
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        const whole = stream ? events.push(chunk) : [chunk];
        if (events.heldBytes > EVENT_BYTES)
          controller.error(new ReplyTooLarge(`An event of the reply has more than ${EVENT_BYTES} bytes.`));
        else if (bytes > maxBytes) controller.error(new ReplyTooLarge(`The reply has more than ${maxBytes} bytes.`));
        else for (const one of whole) controller.enqueue(one);
      },
      flush(controller) {
        const rest = events.end();
        if (rest.byteLength > 0) controller.enqueue(rest);
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(counter), { status, statusText, headers });
  };
}

/**
 * Cuts a stream of server-sent events into its events. SDKs search their whole buffer for each chunk, and copy what
 * follows an event: many small chunks, or thousands of events in one chunk, would take quadratic time.
 */
class EventCutter {
  #held: Uint8Array[] = [];
  heldBytes = 0;
  /** Consecutive line ends: two of them end an event. */
  #lineEnds = 0;
  #afterReturn = false;

  /** Takes a chunk and returns the events that it completes. */
  push(chunk: Uint8Array): Uint8Array[] {
    const events: Uint8Array[] = [];
    let start = 0;
    // An iterator over the bytes, and fields in place of these variables, would take ten times as long.
    let lineEnds = this.#lineEnds;
    let afterReturn = this.#afterReturn;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      const isSecondHalf = byte === LINE_FEED && afterReturn;
      afterReturn = byte === CARRIAGE_RETURN;
      if (isSecondHalf) continue;
      // Only the next byte shows whether a carriage return was the whole line end.
      if (lineEnds >= 2) {
        events.push(this.#cut(chunk.subarray(start, at)));
        start = at;
        lineEnds = 0;
      }
      lineEnds = byte === LINE_FEED || afterReturn ? lineEnds + 1 : 0;
    }
    this.#lineEnds = lineEnds;
    this.#afterReturn = afterReturn;
    // A complete event is passed on without waiting for the next chunk.
    const rest = chunk.subarray(start);
    if (this.#lineEnds >= 2 && !this.#afterReturn) {
      events.push(this.#cut(rest));
      this.#lineEnds = 0;
    } else this.#hold(rest);
    return events;
  }

  /** Returns what followed the last event. */
  end(): Uint8Array {
    return this.#cut(new Uint8Array());
  }

  #hold(part: Uint8Array): void {
    if (part.byteLength === 0) return;
    // Small parts are copied, because each may keep a large buffer alive.
    this.#held.push(part.byteLength < SMALL_BYTES ? part.slice() : part);
    this.heldBytes += part.byteLength;
  }

  #cut(last: Uint8Array): Uint8Array {
    const event = this.#held.length === 0 ? last : new Uint8Array(Buffer.concat([...this.#held, last]));
    this.#held = [];
    this.heldBytes = 0;
    return event;
  }
}

const SMALL_BYTES = 1024;
