import { deadline } from "../../clock.ts";
import { EventCutter } from "../../values/event-cutter.ts";

/** Maximum size of a reply. The largest replies of providers have a few megabytes of text and signatures. */
const REPLY_BYTES = 32 * 1024 * 1024;

/** Maximum size of an event of a stream. An event is held in memory until it is complete. */
const EVENT_BYTES = 4 * 1024 * 1024;

class ReplyTooLarge extends Error {
  override readonly name = "ReplyTooLarge";
}

/** Bounds of one request. `timeoutMs` covers the time from sending it to the end of its reply. */
export interface FetchBounds {
  readonly timeoutMs: number;
  readonly stream: boolean;
  readonly fetch: typeof globalThis.fetch;
}

/**
 * A `fetch` for SDKs. It aborts a reply that is too large, before the SDK parses it, or takes too long: SDKs measure
 * only the time to the headers. It follows no redirection, which would send the key to another host.
 */
export function boundedFetch(
  { timeoutMs, stream, fetch }: FetchBounds,
  maxBytes = REPLY_BYTES,
): typeof globalThis.fetch {
  return async (input, init) => {
    const timeout = deadline(timeoutMs);
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
