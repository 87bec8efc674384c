import { after, cancel, type ExecutionId, monotonic, pause, untilAborted } from "../../base/index.ts";
import type { Journal } from "../../journal/journal.ts";
import type { ExecutionFacts } from "./read-facts.ts";
import type { RestReader } from "./rest-reader.ts";

/**
 * How often it is looked without a notice, in milliseconds: a journal may tell of no appends, a notice may be lost, and
 * what a conversation waits for may stand in the journal of its program.
 */
const LOOK_MS = 1000;
const LOOK_WITHOUT_NOTICES_MS = 200;
/**
 * After an append that ends nothing and whose driver goes on, the next ones are waited for before a program is read again, in
 * milliseconds: twice as long each time, up to the last. Only a program that waits in its sandbox is found by that.
 */
const [FIRST_PAUSE_MS, LAST_PAUSE_MS] = [200, 800];
/** What is read whole each time is read again at most so many times as often as a reading takes. */
const READ_PART = 4;

/**
 * Reads an execution after appends to it, until it goes on no more by itself. Rejects as the reader does, and with the
 * signal's reason.
 */
export async function waitForRest(
  journal: Journal,
  execution: ExecutionId,
  reader: Pick<RestReader, "read" | "records">,
  signal: AbortSignal,
): Promise<ExecutionFacts> {
  let changed = Promise.withResolvers<void>();
  let isOver = Promise.withResolvers<void>();
  using _ = journal.onAppend?.((appended) => {
    const { head = Number.POSITIVE_INFINITY } = appended;
    if (appended.execution !== undefined && (appended.execution !== execution || head <= reader.records)) return;
    changed.resolve();
    if (appended.ended === true || appended.left === true) isOver.resolve();
  });
  const lookMs = journal.onAppend ? LOOK_MS : LOOK_WITHOUT_NOTICES_MS;
  for (let programMs = FIRST_PAUSE_MS; ; programMs = Math.min(2 * programMs, LAST_PAUSE_MS)) {
    signal.throwIfAborted();
    changed = Promise.withResolvers();
    isOver = Promise.withResolvers();
    const since = monotonic();
    const facts = await reader.read();
    if (facts) return facts;
    const isReadWhole = reader.records === 0;
    const pauseMs = isReadWhole ? (monotonic() - since) * READ_PART : programMs;
    const looking = new AbortController();
    const stop = AbortSignal.any([signal, looking.signal]);
    const sleep = (ms: number) => pause(ms, { signal: stop, ref: false });
    try {
      const more = changed.promise.then(() => sleep(pauseMs));
      await Promise.race([isReadWhole ? more : isOver.promise, more, sleep(lookMs)]);
    } finally {
      looking.abort();
    }
  }
}

/**
 * Resolves once the journal has more than `records` records of an execution. Rejects as the journal does, and with the
 * signal's reason.
 */
export async function untilAppended(
  journal: Journal,
  execution: ExecutionId,
  records: number,
  signal: AbortSignal,
): Promise<void> {
  let changed = Promise.withResolvers<void>();
  using _ = journal.onAppend?.((appended) => {
    if (appended.execution === undefined || appended.execution === execution) changed.resolve();
  });
  for (;;) {
    signal.throwIfAborted();
    changed = Promise.withResolvers();
    if ((await journal.find(execution)).records > records) return;
    const looking = after(LOOK_MS, changed.resolve).unref();
    await untilAborted(changed.promise, signal).finally(() => cancel(looking));
  }
}
