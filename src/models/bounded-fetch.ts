/** Most bytes of one reply. The longest that providers allow are a few megabytes of text and signatures. */
const REPLY_BYTES = 32 * 1024 * 1024;

/** Most bytes of one event of a stream. It is held until it is whole. */
const EVENT_BYTES = 4 * 1024 * 1024;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** A reply that has more bytes than any turn can need. */
export class ReplyTooLarge extends Error {
  override readonly name = "ReplyTooLarge";
}

/** Of one request: its time in milliseconds, from its beginning to the end of its reply, and how it leaves. */
export interface FetchBounds {
  readonly timeoutMs: number;
  readonly stream: boolean;
  readonly fetch: typeof globalThis.fetch;
}

/**
 * A `fetch` as SDKs use it: it gives a reply up as soon as it is too large, before anybody parses it, or takes too long,
 * of which SDKs measure only the time to its headers. It follows no redirection, because that would hand the key to
 * another host.
 */
export function boundedFetch(
  { timeoutMs, stream, fetch }: FetchBounds,
  mostBytes = REPLY_BYTES,
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
        else if (bytes > mostBytes) controller.error(new ReplyTooLarge(`The reply has more than ${mostBytes} bytes.`));
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
 * Cuts a stream of server-sent events into its events. SDKs look through all they hold each time more comes, and copy
 * what is behind an event: a reply that comes byte by byte, or thousands of events at once, would cost its square.
 */
class EventCutter {
  #held: Uint8Array[] = [];
  heldBytes = 0;
  /** Line ends in a row: two of them end an event. */
  #lineEnds = 0;
  #afterReturn = false;

  /** The events that a chunk completes. */
  push(chunk: Uint8Array): Uint8Array[] {
    const events: Uint8Array[] = [];
    let start = 0;
    for (const [at, byte] of chunk.entries()) {
      const isSecondHalf = byte === LINE_FEED && this.#afterReturn;
      this.#afterReturn = byte === CARRIAGE_RETURN;
      if (isSecondHalf) continue;
      // A line end is over where the next byte is not its second half: what it ends is cut there.
      if (this.#lineEnds >= 2) {
        events.push(this.#cut(chunk.subarray(start, at)));
        start = at;
        this.#lineEnds = 0;
      }
      this.#lineEnds = byte === LINE_FEED || byte === CARRIAGE_RETURN ? this.#lineEnds + 1 : 0;
    }
    // An event is not kept waiting for the one behind it.
    const rest = chunk.subarray(start);
    if (this.#lineEnds >= 2 && !this.#afterReturn) {
      events.push(this.#cut(rest));
      this.#lineEnds = 0;
    } else this.#hold(rest);
    return events;
  }

  /** What came behind the last event. */
  end(): Uint8Array {
    return this.#cut(new Uint8Array());
  }

  #hold(part: Uint8Array): void {
    if (part.byteLength === 0) return;
    // Small parts are copied: each may be a view of a large buffer.
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
