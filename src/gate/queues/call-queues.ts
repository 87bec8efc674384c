import { ignore, Places, type Release } from "../../base/index.ts";

type QueueName = "checks" | "approvals" | "handlers";

/** Created once: creating it takes a part of a short program. */
const CLOSED = new DOMException("The session has closed.", "AbortError");

export type CallQueues = ReturnType<typeof callQueues>;

/**
 * Queues of the calls of one session. Calls that may need approval have their own queues for the input check and for
 * the approval, so that they do not delay calls that need no approval.
 */
export function callQueues(atOnce: number) {
  const places = () => new Places({ atOnce });
  const queues: Readonly<Record<QueueName, Places>> = { checks: places(), approvals: places(), handlers: places() };
  /** Removes waiting calls from the queues of tools, which outlive the session. */
  const closing = new AbortController();

  function start<Value>(task: () => Promise<Value>, release: Release = ignore): Promise<Value> {
    if (closing.signal.aborted) return new Promise(ignore);
    try {
      const running = task();
      running.then(release, release);
      return running;
    } catch (error) {
      release();
      return Promise.reject(error);
    }
  }

  return {
    get closing(): AbortSignal {
      return closing.signal;
    },

    /**
     * Runs a task when there is a place, in this turn of the event loop if there is one now, as for nearly every call. Once the
     * session is closed, a task that waits never starts and never ends: thousands of them are freed with the session, and not
     * rejected in one turn.
     */
    run<Value>(queue: QueueName, task: () => Promise<Value>): Promise<Value> {
      const place = queues[queue].take("");
      return place instanceof Promise ? place.then((release) => start(task, release)) : start(task, place);
    },

    close: () => closing.abort(CLOSED),
  };
}
