import { addAbortListener } from "node:events";

/** The value of the work. Rejects with the signal's reason if the signal is aborted first; the end of the work is then ignored. */
export async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  using _ = addAbortListener(signal, onAbort);
  return await Promise.race([aborted.promise, work]);
}
