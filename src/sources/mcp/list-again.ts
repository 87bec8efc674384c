import { after, cancel, monotonic, type Timer } from "../../base/index.ts";

/**
 * Time from a change of a server's list to its reading, in milliseconds. It is at least `perReading` times the time of the
 * last reading, and doubles, up to a minute, while the server reports changes again and again.
 */
const LIST_AGAIN_MS = { least: 1000, most: 60_000, perReading: 20 } as const;

/** Decides when a list is read again: its server may report changes at any time, and as often as it likes. */
export function listAgain(read: () => Promise<void>) {
  const { least, most, perReading } = LIST_AGAIN_MS;
  let timer: Timer | undefined;
  let isStale = false;
  let isStopped = false;
  /** Wait before the next reading, and when the last reading ended. */
  let waitMs: number = least;
  let readAt = Number.NEGATIVE_INFINITY;
  const notify = (): void => {
    isStale = true;
    if (timer || isStopped) return;
    if (monotonic() - readAt > 2 * waitMs) waitMs = least;
    timer = after(waitMs, () => {
      isStale = false;
      const startedAt = monotonic();
      void read().finally(() => {
        timer = undefined;
        readAt = monotonic();
        waitMs = Math.min(most, Math.max(2 * waitMs, perReading * (readAt - startedAt)));
        // The list has changed again while it was read.
        if (isStale) notify();
      });
    }).unref();
  };
  const stop = (): void => {
    isStopped = true;
    cancel(timer);
  };
  return { notify, stop };
}
