/*
 * A fleet: processes that share a journal and a queue. What happens to a submitted program:
 *
 *   runtime.submit      programs/submit.ts      the header, without a driver
 *                       fleet-journal.ts        wakes a worker, in the transaction of the header
 *   a worker            pg-boss-queue.ts        takes the wake
 *                       worker.ts               claims and drives, as `recover` does; the claim ends the wake
 *   it waits            worker.ts               notes in the journal that it rests: it costs nothing now
 *   runtime.decide      fleet-journal.ts        the decision, and a wake, in one transaction
 *   a worker dies       reconcile.ts            wakes what has no driver and no wake, once the lease has ended
 *   a client cancels    requests.ts             asks the driver, wherever it is
 *   runtime.wait        executions/wait-for-rest.ts   reads what is new of it after appends, until it ends or waits
 */
import { PortcullisError } from "../errors.ts";
import type { Appended, Journal } from "../journal/journal.ts";
import { listener, option, type OptionsOf, readOptions, required } from "../option-rules/options.ts";
import { drivenHere } from "../programs/driven.ts";
import { ProcessState, type SharedState } from "../places/shared-state.ts";
import { DatabaseState } from "./database-state.ts";
import { FigureReader, type FleetFigures } from "./figures.ts";
import { FleetJournal } from "./fleet-journal.ts";
import { PgBossQueue } from "./queue/pg-boss-queue.ts";
import type { QueueDatabase } from "./queue/queue-database.ts";
import { DriverRequests, type RequestStore } from "./requests.ts";
import { Turns } from "./turns.ts";
import type { WakeQueue } from "./queue/wake-queue.ts";
import type { WorkerParts } from "./worker.ts";

export const FLEET_RULES = {
  /** The journal of all processes of the fleet, in PostgreSQL (`createPostgresJournal`). The caller disposes of it. */
  journal: required(option<Journal>("a journal in PostgreSQL: createPostgresJournal({ url })", isJournal)),
  /** Brings executions to workers: pg-boss, in the database of the journal, by default. It loses nothing if it loses wakes. */
  queue: option<WakeQueue>("a queue: wake, unqueued, work and queued", isQueue),
  /** Told of failures of the queue, which goes on; on standard error by default. */
  onError: listener<(error: unknown) => void>(),
};

export type FleetOptions = OptionsOf<typeof FLEET_RULES>;

/** Processes that share a journal and a queue. Made by `createFleet`. */
export class Fleet implements AsyncDisposable {
  /** The journal of the fleet: what is written to it wakes workers. */
  readonly journal: Journal;
  readonly queue: WakeQueue;
  /** What a worker of this process works with. */
  readonly parts: Pick<WorkerParts, "journal" | "queue" | "turns" | "requests"> & {
    /** Where its processes count together what tools' `concurrency` and `rate` bound. */
    readonly limits: SharedState;
  };
  readonly #figures: FigureReader;
  readonly #own: PgBossQueue | undefined;
  readonly #limits: DatabaseState | undefined;
  #listening: Disposable | undefined;

  constructor({ journal: store, queue, onError = tellError }: FleetOptions) {
    const database = isDatabase(store) ? store : undefined;
    const used = queue ?? new PgBossQueue(database as QueueDatabase, onError);
    const journal = new FleetJournal(store, used, database !== undefined && used.joins === true);
    this.#own = used instanceof PgBossQueue ? used : undefined;
    this.queue = used;
    this.journal = journal;
    this.#limits = database && new DatabaseState(database);
    const limits = this.#limits ?? stateOf(store);
    this.parts = {
      journal,
      queue: used,
      turns: new Turns(database),
      requests: requestsOf(store, database),
      limits,
    };
    this.#figures = new FigureReader(journal, used);
  }

  /** Opens the queue. Rejects with `queue_unavailable`, and as the journal does. */
  async open(): Promise<void> {
    await this.#own?.open();
    const { journal } = this;
    this.#listening ??= journal.onAppend?.((appended) => tellDriver(journal, appended));
  }

  /** What all its processes do now, for the metrics. Rejects as the journal does. */
  figures(): Promise<FleetFigures> {
    return this.#figures.read();
  }

  /** Closes the queue. The journal stays open. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#listening?.[Symbol.dispose]();
    await this.#limits?.leave();
    await this.#own?.[Symbol.asyncDispose]();
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
  const read = readOptions("createFleet", options, FLEET_RULES);
  const { journal, queue } = read;
  if (!journal.rest || (!queue && !isDatabase(journal)))
    throw new PortcullisError(
      "option_invalid",
      "createFleet({ journal }): a fleet needs a journal in PostgreSQL, which all its machines reach: createPostgresJournal({ url }).",
    );
  return new Fleet(read);
}

function isJournal(value: unknown): boolean {
  return typeof value === "object" && value !== null && "append" in value && "renew" in value;
}

function isQueue(value: unknown): boolean {
  const { wake, unqueued, work, queued } = (value ?? {}) as Partial<WakeQueue>;
  return [wake, unqueued, work, queued].every((method) => typeof method === "function");
}

function isDatabase(journal: Journal): journal is Journal & QueueDatabase & RequestStore {
  const { schema, query, onNotify, request, onRequest } = journal as Partial<QueueDatabase & RequestStore>;
  const hasMethods = [query, onNotify, request, onRequest].every((method) => typeof method === "function");
  return hasMethods && typeof schema === "string";
}

/** Parts of a fleet that share a journal in one process hear each other without a database. */
const heard = new WeakMap<Journal, DriverRequests>();

function requestsOf(store: Journal, database: RequestStore | undefined): DriverRequests {
  if (database) return new DriverRequests(database);
  const requests = heard.get(store) ?? new DriverRequests(undefined);
  heard.set(store, requests);
  return requests;
}

const states = new WeakMap<Journal, SharedState>();

function stateOf(store: Journal): SharedState {
  const state = states.get(store) ?? new ProcessState();
  states.set(store, state);
  return state;
}

function tellError(error: unknown): void {
  // oxlint-disable-next-line no-console -- the operator has named no other place
  console.error("portcullis: the queue of the fleet:", error);
}
