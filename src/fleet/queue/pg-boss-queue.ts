import type { Db, PgBoss } from "pg-boss";
import type { QueuedWakes } from "../../runtime/fleet.ts";
import {
  cancel,
  every,
  type ExecutionId,
  loadPackage,
  PortcullisError,
  thrownMessage,
  ignore,
} from "../../base/index.ts";
import type { ExecuteSql } from "../../journal/journal.ts";
import { readName, storedName } from "../postgres/tables/names.ts";
import type { FleetDatabase, Wake } from "../fleet-store.ts";
import { fairOrder } from "./fair-order.ts";
import { QUEUE, queueSchema } from "./queue-schema.ts";

/** How long a worker that has room waits for a notification before it looks, in milliseconds. */
const LOOK_MS = 1000;
const TAKEN_AT_ONCE = 32;
/** Most tenants that a worker names as passed over. */
const MOST_PASSED_OVER = 10_000;

/** A worker of the queue: asked whenever there may be wakes. */
export interface WakeTaker {
  readonly room: () => number;
  readonly passedOver: () => Promise<readonly string[]>;
  /** Takes a wake. The queue forgets the wake when `done` is called. */
  readonly take: (wake: Wake, done: () => void) => void;
  /** Told of each failure of the queue, which goes on. */
  readonly onError: (error: unknown) => void;
}

/** Names as the journal's columns hold them: neither text nor JSON of PostgreSQL takes every character. */
interface JobData {
  readonly execution: ExecutionId;
  readonly tenant: string;
  readonly failures?: number;
}

/** Options of the queue in pg-boss. Liveness is the journal's lease, so a job that was handed out is never retried. */
const QUEUE_OPTIONS = {
  policy: "short",
  notify: true,
  retryLimit: 0,
  expireInSeconds: 60,
  deleteAfterSeconds: 60,
  retentionSeconds: 365 * 86_400,
} as const;

/**
 * Brings executions to workers, by pg-boss in the database of the journal. It only wakes: the journal alone says what is to be
 * done and who may do it. A wake is a job whose singleton key is the id of its execution; with the policy `short` an execution has at
 * most one that waits.
 */
export class PgBossQueue implements AsyncDisposable {
  readonly #database: FleetDatabase;
  readonly #schema: string;
  readonly #onError: (error: unknown) => void;
  readonly #pulls = new Set<() => void>();
  readonly #order: ReturnType<typeof fairOrder>;
  #boss: Promise<PgBoss> | undefined;

  constructor(database: FleetDatabase, onError: (error: unknown) => void) {
    this.#database = database;
    this.#onError = onError;
    this.#schema = queueSchema(database.schema);
    this.#order = fairOrder(database, this.#schema);
  }

  /** Creates the tables if there are none. Safe if many processes do so at once. */
  async open(): Promise<void> {
    await this.#started();
  }

  /** Adds wakes, in the transaction of `within` if it is given. Of an execution that is queued already the wake is changed. */
  async wake(wakes: readonly Wake[], within?: ExecuteSql): Promise<void> {
    const boss = await this.#started();
    const db = within && { executeSql: executing(within) };
    for (const { execution, tenant, afterMs = 0, failures = 0, isNew } of wakes) {
      const [id, group] = [storedName(execution), storedName(tenant)];
      const priority = await this.#order.priorityOf(tenant, isNew ? "new" : "goes on", within);
      const data: JobData = { execution: id, tenant: group, ...(failures === 0 ? {} : { failures }) };
      // Seconds by the clock of the database.
      const startAfter = String(afterMs / 1000);
      const options = { singletonKey: id, group: { id: group }, startAfter, priority, ...(db && { db }) };
      // What the transaction makes has no wake yet, and one that waits already is no later than a later one.
      if (afterMs > 0 || (isNew && within)) await boss.send(QUEUE, data, options);
      // In a transaction a wake that waits is locked until the commit: no worker takes it and reads the journal before.
      else await boss.upsert(QUEUE, data, options);
    }
  }

  async queued(): Promise<readonly QueuedWakes[]> {
    await this.#started();
    const { rows } = await this.#database.query(
      `SELECT group_id AS tenant, count(*)::int AS wakes,
         (extract(epoch FROM min(greatest(created_on, start_after))) * 1000)::float8 AS since
       FROM ${this.#schema}.job WHERE name = $1 AND state < 'active' AND start_after <= now() GROUP BY group_id`,
      [QUEUE],
    );
    return rows.map(({ tenant, wakes, since }) => ({
      tenant: readName(String(tenant)),
      wakes: Number(wakes),
      since: Number(since),
    }));
  }

  async work(taker: WakeTaker): Promise<Taking> {
    return takeJobs(await this.#started(), taker, this.#pulls);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const boss = await this.#boss?.catch(() => undefined);
    await this.#order.close();
    await boss?.stop({ graceful: false }).catch(this.#onError);
  }

  #started(): Promise<PgBoss> {
    // An attempt that failed is no reason for the next one to fail.
    this.#boss ??= this.#start().catch((error: unknown) => {
      this.#boss = undefined;
      throw error;
    });
    return this.#boss;
  }

  async #start(): Promise<PgBoss> {
    const missing = "A fleet needs the package pg-boss: npm install pg-boss.";
    const { PgBoss } = await loadPackage("queue_unavailable", missing, () => import("pg-boss"));
    // The first statement makes the journal's own tables: what is refused after it is the queue's.
    await this.#database.query("SELECT 1");
    const make = () => {
      const boss = new PgBoss({ db: this.#db(), schema: this.#schema, useListenNotify: true, schedule: false });
      return boss.on("error", this.#onError);
    };
    let boss = make();
    try {
      // Now and then it fails because another process has made the schema meanwhile: a connection remembers that there was none.
      await boss.start().catch(async () => {
        await boss.stop({ graceful: false }).catch(ignore);
        boss = make();
        await boss.start();
      });
      await boss.createQueue(QUEUE, QUEUE_OPTIONS);
      await this.#order.open();
    } catch (cause) {
      await boss.stop({ graceful: false }).catch(ignore);
      // The journal says itself that its database cannot be used. What rights the queue needs, it does not know.
      if (PortcullisError.is(cause) && cause.code !== "journal_read_only") throw cause;
      throw new PortcullisError(
        "queue_unavailable",
        `The queue of the fleet cannot be opened in the journal's database (schema ${this.#schema}): ${reasonOf(cause)}. The role of the URL needs the right to create a schema there, once.`,
        { cause },
      );
    }
    return boss;
  }

  /** The database as pg-boss takes it. A notification wakes the workers of this process. */
  #db(): Db {
    return {
      executeSql: executing((text, values) => this.#database.query(text, values)),
      listen: async (channel, onNotification, onReconnect) => {
        const listening = this.#database.onNotify(channel, (payload) => {
          if (payload === undefined) onReconnect();
          else onNotification(payload);
          for (const pull of this.#pulls) pull();
        });
        return { close: async () => listening[Symbol.dispose]() };
      },
    };
  }
}

/**
 * Takes jobs for one worker, as many as it has room for: when it is told that there may be some, and every second. Disposing
 * resolves once it takes none.
 */
function takeJobs(boss: PgBoss, { room, passedOver, take, onError }: WakeTaker, pulls: Set<() => void>) {
  const ending = new Set<Promise<void>>();
  const endJob = (id: string) => {
    const deleting: Promise<void> = boss
      .deleteJob(QUEUE, id)
      .then(() => {}, onError)
      .finally(() => ending.delete(deleting));
    ending.add(deleting);
  };
  let fetching: Promise<void> | undefined;
  let isPulled = false;
  let isEnded = false;
  const fetch = async (): Promise<void> => {
    try {
      while (isPulled) {
        const batchSize = Math.min(room(), TAKEN_AT_ONCE);
        if (isEnded || batchSize <= 0) return;
        isPulled = false;
        const ignoreGroups = (await passedOver()).slice(0, MOST_PASSED_OVER).map(storedName);
        const jobs = await boss.fetch<JobData>(QUEUE, { batchSize, ...(ignoreGroups.length > 0 && { ignoreGroups }) });
        for (const { id, data } of jobs)
          take(
            wakeOf(data),
            once(() => endJob(id)),
          );
        if (jobs.length === batchSize) isPulled = true;
      }
    } catch (error) {
      onError(error);
    }
  };
  /** There may be wakes, or the worker has room again. */
  const pull = (): void => {
    isPulled = true;
    if (isEnded) return;
    fetching ??= fetch().finally(() => {
      fetching = undefined;
    });
  };
  pulls.add(pull);
  const looking = every(LOOK_MS, pull);
  pull();
  return {
    pull,
    async [Symbol.asyncDispose](): Promise<void> {
      isEnded = true;
      pulls.delete(pull);
      cancel(looking);
      await fetching;
      await Promise.all(ending);
    },
  };
}

/** A function that calls another one the first time that it is called. */
function once(call: () => void): () => void {
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    call();
  };
}

export type Taking = ReturnType<typeof takeJobs>;

function wakeOf({ execution, tenant, ...more }: JobData): Wake {
  return { execution: readName(execution), tenant: readName(tenant), ...more };
}

function executing(query: ExecuteSql): Db["executeSql"] {
  return async (text, values) => {
    const { rows } = await query(text, values);
    return { rows: [...rows] };
  };
}

/** What PostgreSQL says, also where the journal has made a sentence of it. */
function reasonOf(cause: unknown): string {
  if (PortcullisError.is(cause) && cause.cause instanceof Error) return cause.cause.message;
  return thrownMessage(cause);
}
