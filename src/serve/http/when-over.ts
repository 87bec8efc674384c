/** Ends a body where it is. */
export interface BodyEnd {
  readonly signal: AbortSignal;
  /** The last part of the body then. */
  readonly last: () => string;
}

/** The response with the same body; `over` is called once, when the body has been read or cancelled. */
export function whenOver(response: Response, over: () => void, { signal, last }: Partial<BodyEnd> = {}): Response {
  if (!response.body) {
    over();
    return response;
  }
  const reader = response.body.getReader();
  const onAbort = () => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener("abort", onAbort, { once: true });
  const end = once(() => {
    signal?.removeEventListener("abort", onAbort);
    over();
  });
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          end();
          if (signal?.aborted && last) controller.enqueue(new TextEncoder().encode(last()));
          controller.close();
        } catch (error) {
          end();
          controller.error(error);
        }
      },
      async cancel(reason) {
        end();
        await reader.cancel(reason);
      },
    },
    // Read on demand: the end is seen only after everything before it was passed on.
    { highWaterMark: 0 },
  );
  const { status, headers } = response;
  return new Response(body, { status, headers });
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
