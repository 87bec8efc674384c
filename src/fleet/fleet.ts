/*
 * A fleet: processes that share a journal and a queue. What happens to a submitted program:
 *
 *   runtime.submit      programs/submit.ts      the header, without a driver
 *                       fleet-journal.ts        wakes a worker, in the transaction of the header
 *   a worker            pg-boss-queue.ts        takes the wake
 *                       worker.ts               claims and drives, as `recover` does; the claim ends the wake
 *   it waits            worker.ts               notes in the journal that it rests: it costs nothing now
 *   runtime.decide      fleet-journal.ts        the decision, and a wake, in one transaction
 *   a worker dies       fleet-store.ts          finds what has no driver and no wake, once the lease has ended
 *   a client cancels    requests.ts             asks the driver, wherever it is
 *   runtime.wait        executions/wait-for-rest.ts   reads what is new of it after appends, until it ends or waits
 */
import { monotonic } from "../clock.ts";
import { PortcullisError } from "../errors.ts";
import type { Appended, Journal, WorkerNeeds } from "../journal/journal.ts";
import type { PostgresJournal } from "../journal/postgres/postgres-journal.ts";
import { listener, option, type OptionsOf, readOptions, required } from "../option-rules/options.ts";
import { drivenHere } from "../programs/driven.ts";
import { FleetJournal } from "./fleet-journal.ts";
import { FleetLimits } from "./fleet-limits.ts";
import { PgBossQueue, type QueuedWakes } from "./queue/pg-boss-queue.ts";
import { DriverRequests } from "./requests.ts";
import type { WorkerParts } from "./worker.ts";

export const FLEET_RULES = {
  /** The journal of all processes of the fleet, in PostgreSQL (`createPostgresJournal`). The caller disposes of it. */
  journal: required(option<Journal>("a journal in PostgreSQL: createPostgresJournal({ url })", isJournal)),
  /** Told of failures of the queue, which goes on; on standard error by default. */
  onError: listener<(error: unknown) => void>(),
};

export type FleetOptions = OptionsOf<typeof FLEET_RULES>;

/** What a fleet does now, for those who scale it. */
export interface FleetFigures {
  readonly queued: readonly QueuedWakes[];
  /** Executions that drivers hold. */
  readonly driven: number;
  /** Executions that wait for a worker with what they need, by what that is. */
  readonly lacking: ReadonlyMap<WorkerNeeds["what"], number>;
}

/** How long figures hold, in milliseconds: several may ask at once. */
const FIGURES_MS = 1000;

/** Processes that share a journal and a queue. Made by `createFleet`. */
export class Fleet implements AsyncDisposable {
  /** The journal of the fleet: what is written to it wakes workers. */
  readonly journal: Journal;
  /** What a worker of this process works with. */
  readonly parts: Pick<WorkerParts, "journal" | "queue" | "requests"> & {
    /** Where its processes count together what tools' `concurrency` and `rate` bound. */
    readonly limits: FleetLimits;
  };
  #known: { readonly at: number; readonly figures: Promise<FleetFigures> } | undefined;
  #listening: Disposable | undefined;

  constructor(store: PostgresJournal, onError: (error: unknown) => void) {
    const queue = new PgBossQueue(store, onError);
    const journal = new FleetJournal(store, queue);
    this.journal = journal;
    this.parts = { journal, queue, requests: new DriverRequests(store), limits: new FleetLimits(store) };
  }

  /** Opens the queue. Rejects with `queue_unavailable`, and as the journal does. */
  async open(): Promise<void> {
    const { journal, queue } = this.parts;
    await queue.open();
    this.#listening ??= journal.onAppend?.((appended) => tellDriver(journal, appended));
  }

  /** What all its processes do now, for the metrics; read once a second at most. Rejects as the journal does. */
  figures(): Promise<FleetFigures> {
    if (!this.#known || monotonic() - this.#known.at >= FIGURES_MS)
      this.#known = { at: monotonic(), figures: this.#readFigures() };
    return this.#known.figures;
  }

  async #readFigures(): Promise<FleetFigures> {
    const { queue, journal } = this.parts;
    const [queued, lacking, held] = await Promise.all([queue.queued(), journal.rows.lacking(), journal.rows.held()]);
    return { queued, lacking, driven: held.values().reduce((sum, count) => sum + count, 0) };
  }

  /** Closes the queue. The journal stays open. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#listening?.[Symbol.dispose]();
    await this.parts.limits[Symbol.asyncDispose]();
    await this.parts.queue[Symbol.asyncDispose]();
  }
}

/** A driver of this process reads at once what another process has decided, and not when it renews its lease. */
function tellDriver(journal: Journal, { execution, head }: Appended): void {
  const here = execution === undefined ? undefined : drivenHere(journal, execution);
  // The driver of a failing store ends by itself.
  here?.log.catchUp(head).catch(() => {});
}

/**
 * Creates the part of a fleet that this process is: pass it to `createRuntime({ fleet })`. Throws `option_invalid` for
 * a journal that other machines cannot have.
 */
export function createFleet(options: FleetOptions): Fleet {
  const { journal, onError = tellError } = readOptions("createFleet", options, FLEET_RULES);
  if (!isDatabase(journal))
    throw new PortcullisError(
      "option_invalid",
      "createFleet({ journal }): a fleet needs a journal in PostgreSQL, which all its machines reach: createPostgresJournal({ url }).",
    );
  return new Fleet(journal, onError);
}

function isJournal(value: unknown): boolean {
  return typeof value === "object" && value !== null && "append" in value && "renew" in value;
}

function isDatabase(journal: Journal): journal is PostgresJournal {
  const { schema, query, onNotify } = journal as Partial<PostgresJournal>;
  return typeof schema === "string" && typeof query === "function" && typeof onNotify === "function";
}

function tellError(error: unknown): void {
  // oxlint-disable-next-line no-console -- the operator has named no other place
  console.error("portcullis: the queue of the fleet:", error);
}
