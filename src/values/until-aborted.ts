import { addAbortListener } from "node:events";

/** What the work gives. Rejects with the signal's reason if it is aborted before; then the work goes on unheard. */
export async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  using _ = addAbortListener(signal, onAbort);
  return await Promise.race([aborted.promise, work]);
}
