/* A fleet: processes that share a journal and a queue. README.md beside this file says what happens to a program. */
import {
  type ExecutionId,
  listener,
  monotonic,
  option,
  optionError,
  type OptionsOf,
  PortcullisError,
  readOptions,
  required,
  ignore,
} from "../base/index.ts";
import type { Appended, Journal } from "../journal/journal.ts";
import type { PostgresJournal } from "./postgres/postgres-journal.ts";
import { drivenHere } from "../executions/driven.ts";
import { FleetJournal } from "./fleet-journal.ts";
import { PostgresLimits } from "./fleet-limits.ts";
import { PgBossQueue } from "./queue/pg-boss-queue.ts";
import { driverRequests } from "./requests.ts";
import { FleetWorker } from "./worker.ts";
import type {
  Fleet,
  FleetFigures,
  FleetMember,
  FleetRequests,
  FleetRuntime,
  SubmitOptions,
  Worker,
  WorkerHost,
  WorkOptions,
} from "../runtime/fleet.ts";

export const FLEET_RULES = {
  /** The journal of all processes of the fleet, in PostgreSQL (`createPostgresJournal`). The caller disposes of it. */
  journal: required(option<Journal>("a journal in PostgreSQL: createPostgresJournal({ url })", isJournal)),
  /** Told of failures of the queue, which goes on; on standard error by default. */
  onError: listener<(error: unknown) => void>(),
};

export type FleetOptions = OptionsOf<typeof FLEET_RULES>;

/** How long figures hold, in milliseconds: several may ask at once. */
const FIGURES_MS = 1000;

export class PostgresFleet implements Fleet {
  readonly journal: FleetJournal;
  readonly limits: PostgresLimits;
  readonly requests: FleetRequests;
  readonly #queue: PgBossQueue;
  #cache: { readonly at: number; readonly figures: Promise<FleetFigures> } | undefined;
  #listening: Disposable | undefined;

  constructor(store: PostgresJournal, onError: (error: unknown) => void) {
    this.#queue = new PgBossQueue(store, onError);
    this.journal = new FleetJournal(store, this.#queue);
    this.limits = new PostgresLimits(store);
    this.requests = driverRequests(store);
  }

  async open(): Promise<void> {
    await this.#queue.open();
    this.#listening ??= this.journal.onAppend?.((appended) => tellDriver(this.journal, appended));
  }

  async startWorker(host: WorkerHost): Promise<Worker> {
    const { journal, requests } = this;
    const worker = new FleetWorker({ ...host, journal, queue: this.#queue, requests });
    await worker.start();
    return worker;
  }

  async submit<Context>(
    runtime: FleetRuntime<Context>,
    program: string,
    options: SubmitOptions = {},
  ): Promise<ExecutionId> {
    return (await this.#memberOf("submit", runtime)).submit(program, options);
  }

  async work<Context>(runtime: FleetRuntime<Context>, options = {} as WorkOptions<Context>): Promise<Worker> {
    return (await this.#memberOf("work", runtime)).work(options);
  }

  async #memberOf<Context>(method: string, runtime: FleetRuntime<Context> | undefined): Promise<FleetMember<Context>> {
    if (runtime?.fleet === this) return runtime.fleetMember();
    throw optionError(`${method}(runtime)`, "a runtime of this fleet: createRuntime({ fleet })", runtime);
  }

  figures(): Promise<FleetFigures> {
    if (!this.#cache || monotonic() - this.#cache.at >= FIGURES_MS)
      this.#cache = { at: monotonic(), figures: this.#readFigures() };
    return this.#cache.figures;
  }

  async #readFigures(): Promise<FleetFigures> {
    const { rows } = this.journal;
    const [queued, lacking, held] = await Promise.all([this.#queue.queued(), rows.lacking(), rows.held()]);
    return { queued, lacking, driven: held.values().reduce((sum, count) => sum + count, 0) };
  }

  /** Closes the queue. The journal stays open. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#listening?.[Symbol.dispose]();
    await this.limits[Symbol.asyncDispose]();
    await this.#queue[Symbol.asyncDispose]();
  }
}

/** A driver of this process reads at once what another process has decided, and not when it renews its lease. */
function tellDriver(journal: Journal, { execution, head }: Appended): void {
  const here = execution === undefined ? undefined : drivenHere(journal, execution);
  // The driver of a failing store ends by itself.
  here?.log.catchUp(head).catch(ignore);
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
  return new PostgresFleet(journal, onError);
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
