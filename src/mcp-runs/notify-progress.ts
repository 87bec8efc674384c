import { cancel, every, pause } from "../clock.ts";
import { LatestValue } from "../values/latest-value.ts";
import type { McpRequest } from "./request.ts";
import type { Progress, Run } from "./run.ts";

/** Longest time between two notifications. Also a busy host tells clients at least every ten seconds. */
const LONGEST_MS = 8000;
/** Shortest time between two notifications: what waits for a slow client must not grow with the number of calls. */
const SHORTEST_MS = 250;

/** Tells the client of a request how far a run has come, until it is ended. A client that cannot be told still gets its result. */
export function notifyProgress(run: Run, { notify }: McpRequest) {
  if (!notify) return { end: async () => {} };
  // Each request has its own value, because several requests may wait for the same run.
  const progress = new LatestValue<Progress>();
  run.watchers.add(progress);
  const timer = every(LONGEST_MS, () => progress.set(run.progress)).unref();
  const ended = Promise.withResolvers<void>();
  const spaced = () => Promise.race([pause(SHORTEST_MS, { ref: false }), ended.promise]);
  const notified = notifyAll(progress, notify, spaced);
  return {
    end: async () => {
      cancel(timer);
      run.watchers.delete(progress);
      progress.end();
      ended.resolve();
      await notified;
    },
  };
}

/** The number of a notification must be greater than the previous number, even if no call was made meanwhile. */
async function notifyAll(
  progress: LatestValue<Progress>,
  notify: NonNullable<McpRequest["notify"]>,
  spaced: () => Promise<void>,
): Promise<void> {
  let last = 0;
  for await (const { calls, text } of progress) {
    last = Math.max(last + 1, calls);
    await notify(last, text).catch(() => {});
    await spaced();
  }
}
