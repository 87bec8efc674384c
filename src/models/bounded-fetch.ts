/** Most bytes of one reply. The longest that providers allow are a few megabytes of text and signatures. */
const REPLY_BYTES = 32 * 1024 * 1024;

/** Most bytes of one line of a stream: SDKs look through all they have of a line each time more of it comes. */
const LINE_BYTES = 4 * 1024 * 1024;
const LINE_FEED = 10;

/** A reply that has more bytes than any turn can need. */
export class ReplyTooLarge extends Error {
  override readonly name = "ReplyTooLarge";
}

/**
 * A `fetch` as SDKs use it: it gives a reply up as soon as it is too large, before anybody parses it, and follows no
 * redirection, because that would hand the key to another host.
 */
export function boundedFetch(fetch: typeof globalThis.fetch, mostBytes = REPLY_BYTES): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: "error" });
    if (!response.body) return response;
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    let bytes = 0;
    let lineBytes = 0;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        const lineEnd = chunk.lastIndexOf(LINE_FEED);
        lineBytes = lineEnd < 0 ? lineBytes + chunk.byteLength : chunk.byteLength - lineEnd - 1;
        if (isStream && lineBytes > LINE_BYTES)
          controller.error(new ReplyTooLarge(`A line of the reply has more than ${LINE_BYTES} bytes.`));
        else if (bytes > mostBytes) controller.error(new ReplyTooLarge(`The reply has more than ${mostBytes} bytes.`));
        else controller.enqueue(chunk);
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(counter), { status, statusText, headers });
  };
}
