import { standingOfConversation } from "../../conversations/from-journal/conversation-standing.ts";
import { readStandingConversation } from "../../conversations/from-journal/past-conversation.ts";
import { after, cancel, type ExecutionId, monotonic, pause, untilAborted } from "../../base/index.ts";
import type { ExecutionSummary, Journal } from "../../journal/journal.ts";
import { NO_ITEMS, readRecords } from "../../journal/reading/read-records.ts";
import { findOwn, headerOf, PastFold } from "../../executions/from-journal/past-execution.ts";
import type { Scope } from "../../executions/scope.ts";
import { standingOf } from "../../executions/from-journal/standing.ts";
import { type ExecutionFacts, programFacts, readFacts } from "./read-facts.ts";

/**
 * Reads one execution of a tenant again and again, until it ends or waits. Of a program, each reading goes on where the last
 * one ended. A conversation is read with its open programs, because what it waits for may stand in their journals, and with
 * all of them once it goes on no more.
 */
export class RestReader {
  readonly #scope: Scope;
  readonly #execution: ExecutionId;
  #summary: ExecutionSummary | undefined;
  /** Whether only the header of a program was there when it was found. It is not read for that. */
  #isFresh = false;
  #fold = new PastFold();

  constructor(scope: Scope, execution: ExecutionId) {
    this.#scope = scope;
    this.#execution = execution;
  }

  /** Number of records that were read and will not be read again. */
  get records(): number {
    return this.#isFresh ? 1 : this.#fold.state.records;
  }

  /**
   * The facts of an execution that goes on no more by itself; undefined for one that does. Rejects with `execution_unknown`,
   * also for another tenant's, and as the journal does.
   */
  async read(): Promise<ExecutionFacts | undefined> {
    const isFirst = this.#summary === undefined;
    const { kind, records } = (this.#summary ??= await findOwn(this.#scope, this.#execution));
    this.#isFresh = isFirst && kind === "program" && records === 1;
    // A program goes on by itself until it has called something.
    if (this.#isFresh) return undefined;
    if (kind === "conversation" && (await this.#goesOn())) return undefined;
    const facts = kind === "program" ? await this.#readProgram() : await readFacts(this.#scope, this.#execution);
    return facts?.listed.state === "running" ? undefined : facts;
  }

  /** All facts of a conversation take the journals of all its programs. */
  async #goesOn(): Promise<boolean> {
    const { journal, tenant } = this.#scope;
    const past = await readStandingConversation(journal, this.#execution, tenant);
    return standingOfConversation(past).state === "running";
  }

  async #readProgram(): Promise<ExecutionFacts | undefined> {
    const { journal, tenant } = this.#scope;
    const fold = this.#fold;
    const from = fold.state.records;
    const records = readRecords(journal, this.#execution, { tenant, from, ...NO_ITEMS });
    await records.each((record) => fold.take(record));
    if (fold.state.records === from) await this.#forgetIfAnother();
    // Whether a driver has it can only make what waits go on.
    const { state } = standingOf(fold.state, true);
    if (state === "running") return undefined;
    const summary = state === "ended" ? this.#endedSummary() : await findOwn(this.#scope, this.#execution);
    return programFacts(this.#scope, summary, await records.lane.work(fold.past()));
  }

  /** What the journal would tell of an execution that has ended: it was read to its end. */
  #endedSummary(): ExecutionSummary {
    const { execution, startedAt, tenant } = headerOf(this.#fold.state, this.#execution);
    return { execution, kind: "program", tenant, startedAt, records: this.records, ended: true };
  }

  /** An execution may be deleted, and another one be made under its id. */
  async #forgetIfAnother(): Promise<void> {
    const found = await findOwn(this.#scope, this.#execution);
    if (found.records >= this.records && found.startedAt === this.#summary?.startedAt) return;
    this.#summary = found;
    this.#fold = new PastFold();
  }
}

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
