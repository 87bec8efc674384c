/** Most bytes of one reply. The longest that providers allow are a few megabytes of text and signatures. */
const REPLY_BYTES = 32 * 1024 * 1024;

/** Most bytes of one event of a stream: SDKs look through all they have of an event each time more of it comes. */
const EVENT_BYTES = 4 * 1024 * 1024;
/** What ends an event: an empty line, in each way to break lines. */
const EVENT_ENDS = ["\n\n", "\n\r\n", "\r\r"];

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
    let eventBytes = 0;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        const bytesOfChunk = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
        const end = stream ? Math.max(...EVENT_ENDS.map((mark) => bytesOfChunk.lastIndexOf(mark))) : -1;
        eventBytes = end < 0 ? eventBytes + chunk.byteLength : chunk.byteLength - end;
        if (stream && eventBytes > EVENT_BYTES)
          controller.error(new ReplyTooLarge(`An event of the reply has more than ${EVENT_BYTES} bytes.`));
        else if (bytes > mostBytes) controller.error(new ReplyTooLarge(`The reply has more than ${mostBytes} bytes.`));
        else controller.enqueue(chunk);
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(counter), { status, statusText, headers });
  };
}
