/**
 * The response with the same body; `over` is called once, when the body has been read or cancelled. `signal` ends a body where it
 * is, and `last` gives its last part then.
 */
import { ignore } from "../../base/index.ts";
export function whenOver(
  response: Response,
  over: () => void,
  { signal, last }: { readonly signal?: AbortSignal; readonly last?: () => string } = {},
): Response {
  if (!response.body) {
    over();
    return response;
  }
  const reader = response.body.getReader();
  const onAbort = () => void reader.cancel(signal?.reason).catch(ignore);
  signal?.addEventListener("abort", onAbort, { once: true });
  let end = () => {
    end = () => {};
    signal?.removeEventListener("abort", onAbort);
    over();
  };
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
  return new Response(body, response);
}
