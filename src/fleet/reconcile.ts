/*
 * Wakes the executions that no wake names although they go on: their driver died, or their wake was lost. What only waits
 * is not looked at.
 */
import type { PortcullisError } from "../errors.ts";
import type { ExecutionSummary, ListOptions } from "../journal/journal.ts";
import { readList } from "../journal/reading/read-records.ts";
import type { FleetJournal } from "./fleet-journal.ts";
import type { Turns } from "./turns.ts";
import type { WakeQueue } from "./queue/wake-queue.ts";

/** Executions that the queue is asked about at once. */
const PAGE = 500;
/** Pages of submitted executions in one round. Where many wait for a worker, their wakes are mostly there. */
const PAGES = 2;
/** Damaged entries that are told, at most. */
const MOST_TOLD = 1000;

export interface ReconcilerParts {
  readonly journal: FleetJournal;
  readonly queue: WakeQueue;
  /** After this time a wake that a worker was given, and has not ended, names no execution any more, in milliseconds. */
  readonly staleMs: number;
  readonly turns: Turns;
  /** Of all processes one does a round in this time, in milliseconds. */
  readonly everyMs: number;
  /** Told of each damaged entry, which is passed over. */
  readonly onError: (error: unknown) => void;
}

export class Reconciler {
  readonly #parts: ReconcilerParts;
  /** Submitted executions, the latest first: each round goes on where the last one ended. */
  #submitted: AsyncGenerator<readonly ExecutionSummary[], undefined> | undefined;

  readonly #told = new Set<string>();

  constructor(parts: ReconcilerParts) {
    this.#parts = parts;
  }

  /** Resolves with the number of executions that it has woken. Rejects as the journal and the queue do. */
  async round(): Promise<number> {
    const { turns, everyMs } = this.#parts;
    if (!(await turns.take("reconcile", everyMs))) return 0;
    return (await this.#wakeLeft()) + (await this.#wakeSubmitted());
  }

  /** Those whose driver died or gave them back. There are few, and each waits for this. */
  async #wakeLeft(): Promise<number> {
    let woken = 0;
    for await (const page of this.#pages({ open: true, due: "left" })) woken += await this.#wakeLost(page);
    return woken;
  }

  /** Those that no driver has claimed yet. A round goes on only as long as their wakes are lost. */
  async #wakeSubmitted(): Promise<number> {
    let woken = 0;
    const submitted = this.#submitted ?? this.#pages({ open: true, due: "submitted" });
    this.#submitted = undefined;
    for (let pages = 1; ; pages += 1) {
      const { value: page } = await submitted.next();
      if (!page) return woken;
      const lost = await this.#wakeLost(page);
      woken += lost;
      if (lost > 0 || pages < PAGES) continue;
      this.#submitted = submitted;
      return woken;
    }
  }

  async #wakeLost(page: readonly ExecutionSummary[]): Promise<number> {
    const { queue, staleMs } = this.#parts;
    const lost = new Set(
      await queue.unqueued(
        page.map(({ execution }) => execution),
        staleMs,
      ),
    );
    const wakes = page.filter(({ execution }) => lost.has(execution));
    await queue.wake(wakes.map(({ execution, tenant, lease }) => ({ execution, tenant, isNew: lease === undefined })));
    return wakes.length;
  }

  async *#pages(options: ListOptions): AsyncGenerator<readonly ExecutionSummary[], undefined> {
    let page: ExecutionSummary[] = [];
    const onDamaged = (error: PortcullisError) => this.#tell(error);
    for await (const summary of readList(this.#parts.journal, { ...options, onDamaged })) {
      if (summary.kind === "call") continue;
      page.push(summary);
      if (page.length < PAGE) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }

  /** Each round finds the same damaged entries. */
  #tell(error: PortcullisError): void {
    if (this.#told.has(error.message) || this.#told.size === MOST_TOLD) return;
    this.#told.add(error.message);
    this.#parts.onError(error);
  }
}
