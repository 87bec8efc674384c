/** Most bytes of one reply. The longest that providers allow are a few megabytes of text and signatures. */
const REPLY_BYTES = 32 * 1024 * 1024;

/** Most bytes of one line of a stream: SDKs look through all they have of a line each time more of it comes. */
const LINE_BYTES = 4 * 1024 * 1024;
const LINE_FEED = 10;

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
    let lineBytes = 0;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        const lineEnd = chunk.lastIndexOf(LINE_FEED);
        lineBytes = lineEnd < 0 ? lineBytes + chunk.byteLength : chunk.byteLength - lineEnd - 1;
        if (stream && lineBytes > LINE_BYTES)
          controller.error(new ReplyTooLarge(`A line of the reply has more than ${LINE_BYTES} bytes.`));
        else if (bytes > mostBytes) controller.error(new ReplyTooLarge(`The reply has more than ${mostBytes} bytes.`));
        else controller.enqueue(chunk);
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(counter), { status, statusText, headers });
  };
}
