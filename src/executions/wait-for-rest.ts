import { setTimeout as delay } from "node:timers/promises";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { Journal } from "../journal/journal.ts";

/**
 * How often it is looked without a notice, in milliseconds: a journal may tell of no appends, a notice may be lost, and
 * what a conversation waits for may stand in the journal of its program.
 */
const LOOK_MS = 1000;
const LOOK_WITHOUT_NOTICES_MS = 200;

/** An execution is read again at most so many times as often as a reading takes. */
const READ_PART = 4;

/**
 * Reads an execution after each append to it, until `rests` says that it goes on no more by itself. Rejects as `read`
 * does, and with the signal's reason.
 */
export async function waitForRest<Status>(
  journal: Journal,
  execution: ExecutionId,
  read: () => Promise<Status>,
  rests: (status: Status) => boolean,
  signal: AbortSignal,
): Promise<Status> {
  let changed = Promise.withResolvers<void>();
  using _ = journal.onAppend?.((appended) => {
    if (appended.execution === undefined || appended.execution === execution) changed.resolve();
  });
  const lookMs = journal.onAppend ? LOOK_MS : LOOK_WITHOUT_NOTICES_MS;
  for (;;) {
    signal.throwIfAborted();
    changed = Promise.withResolvers();
    const since = performance.now();
    const status = await read();
    if (rests(status)) return status;
    const readMs = performance.now() - since;
    const looking = new AbortController();
    const stop = AbortSignal.any([signal, looking.signal]);
    try {
      await Promise.race([changed.promise, delay(lookMs, undefined, { signal: stop, ref: false }).catch(() => {})]);
      await delay(readMs * READ_PART, undefined, { signal, ref: false }).catch(() => {});
    } finally {
      looking.abort();
    }
  }
}
