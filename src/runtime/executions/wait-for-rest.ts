import { after, cancel, type ExecutionId, monotonic, pause, untilAborted } from "../../base/index.ts";
import { leasedUntil } from "../../executions/driven.ts";
import { findOwn } from "../../executions/from-journal/past-execution.ts";
import type { ExecutionSummary, Journal } from "../../journal/journal.ts";
import type { Scope } from "../../executions/scope.ts";
import { type ExecutionFacts, readFacts } from "./list-executions.ts";

/**
 * How often it is looked without a notice, in milliseconds: a journal may tell of no appends, a notice may be lost, and
 * what a conversation waits for may stand in the journal of its program.
 */
const LOOK_MS = 1000;
const LOOK_WITHOUT_NOTICES_MS = 200;
/** After an append that ends nothing and whose driver goes on, the next ones are waited for, in milliseconds. */
const PAUSE_MS = 200;
/** An execution is read again at most so many times as often as a reading takes, but once it has ended or was left. */
const READ_PART = 4;

/** Tells whether a program goes on as it did when it was read; undefined if only a reading tells how an execution stands. */
function markOf({ kind, startedAt, records, lease }: ExecutionSummary): string | undefined {
  if (kind !== "program" || leasedUntil(lease) === undefined) return undefined;
  return JSON.stringify([startedAt, records, lease?.driver]);
}

/**
 * Reads an execution after appends to it, until it ends or waits. Rejects with `execution_unknown`, also for another tenant's,
 * as the journal does, and with the signal's reason.
 */
export async function waitForRest(scope: Scope, execution: ExecutionId, signal: AbortSignal): Promise<ExecutionFacts> {
  const { journal } = scope;
  let records = 0;
  let seen: string | undefined;
  let changed = Promise.withResolvers<void>();
  let isOver = Promise.withResolvers<void>();
  using _ = journal.onAppend?.((appended) => {
    const { head = Number.POSITIVE_INFINITY } = appended;
    if (appended.execution !== undefined && (appended.execution !== execution || head <= records)) return;
    changed.resolve();
    if (appended.ended === true || appended.left === true) isOver.resolve();
  });
  const lookMs = journal.onAppend ? LOOK_MS : LOOK_WITHOUT_NOTICES_MS;
  for (;;) {
    signal.throwIfAborted();
    changed = Promise.withResolvers();
    isOver = Promise.withResolvers();
    const since = monotonic();
    const found = await findOwn(scope, execution);
    if (seen === undefined || markOf(found) !== seen) {
      const facts = await readFacts(scope, execution);
      const { listed } = facts;
      if (listed.state !== "running") return facts;
      // What a conversation waits for may have changed without a record of its own.
      records = listed.kind === "program" ? listed.records : 0;
      // Undefined if the lease has run out since.
      seen = markOf(found);
    }
    const readMs = (monotonic() - since) * READ_PART;
    const looking = new AbortController();
    const stop = AbortSignal.any([signal, looking.signal]);
    const sleep = (ms: number) => pause(Math.max(ms, readMs), { signal: stop, ref: false });
    try {
      await Promise.race([isOver.promise, changed.promise.then(() => sleep(PAUSE_MS)), sleep(lookMs)]);
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
