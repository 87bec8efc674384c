import type { Client, Pool, PoolClient, PoolConfig, QueryResult } from "pg";
import {
  loadPackage,
  monotonic,
  pause,
  type Places,
  PortcullisError,
  type CheckedOptions,
} from "../../../base/index.ts";
import { namedDatabase } from "./address.ts";
import { makeTables } from "../tables/tables.ts";
import type { POSTGRES_JOURNAL_RULES } from "../postgres-options.ts";
import { inTransaction, Undone } from "./transaction.ts";
import { sqlState, faultOf, storeError, unavailable, unknownOutcome, unreachable } from "./store-error.ts";

export type DatabaseOptions = CheckedOptions<typeof POSTGRES_JOURNAL_RULES>;

/** A statement. One with a name is parsed once for each connection. */
export interface Statement {
  readonly name?: string | undefined;
  readonly text: string;
  readonly values?: unknown[] | undefined;
}

export type DatabaseRow = Record<string, unknown>;

/** Wait between two attempts to reach the database, in milliseconds: it doubles up to the second. */
const [FIRST_RETRY_MS, MAX_RETRY_MS] = [20, 1000];
/** How long one attempt to connect may take, in milliseconds. */
const CONNECTING_MS = 5000;
/** Beyond the server's own time-out for a statement, in milliseconds: the connection is then given up. */
const ANSWER_MS = 3000;
const IDLE_MS = 30_000;
const MOST_NAMED = 256;
/** How long a statement waits for one lock, in milliseconds. It is then tried again, as long as the database is waited for. */
const LOCK_MS = 1000;

/** The server cannot write, or a table has changed since a statement was planned on this connection. */
const UNUSABLE: ReadonlySet<unknown> = new Set(["25006", "0A000"]);

/** What a connection is told first. A setting by which commits would survive less than they promise is raised. */
const settingsOf = (statementMs: number) => `
  SET SESSION statement_timeout = ${statementMs};
  SET SESSION lock_timeout = ${Math.min(LOCK_MS, statementMs)};
  SET SESSION idle_in_transaction_session_timeout = ${statementMs};
  SET SESSION default_transaction_isolation = 'read committed';
  SET SESSION client_min_messages = warning;
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
`;

export interface TransactionOptions {
  /** What runs may run again if the connection was lost, and it is not known whether it took effect. */
  readonly idempotent?: boolean;
  /** Called if the connection is lost while idempotent work is under way. */
  readonly onLost?: () => void;
  /** Work that waited for a lock, or took too long, is not run again: it rejects with `BlockedError`. */
  readonly unlessBlocked?: boolean;
  readonly places?: Places;
}

/** The database took nothing of the work, because others hold a lock, or because it took too long. */
export class BlockedError extends Error {}

/** lock_not_available, query_canceled, deadlock_detected */
const BLOCKED: ReadonlySet<unknown> = new Set(["55P03", "57014", "40P01"]);

/** The connections of a journal to its database: bounded, made again when they are lost, and waited for within a bound. */
export class Database {
  readonly schema: string;
  readonly where: string;
  readonly #options: DatabaseOptions;
  /** Statements of others, by their texts, in the order in which they came. */
  readonly #indexes = new Map<string, number>();
  #pool: Promise<Pool> | undefined;
  #ready: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.schema = options.schema;
    this.where = namedDatabase(options.url);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** A statement that may run again. */
  async query(statement: Statement): Promise<QueryResult<DatabaseRow>> {
    return this.run((client) => client.query<DatabaseRow>(statement), { idempotent: true });
  }

  /**
   * A statement of others on this connection. One that comes again is named, so that it is parsed and planned once for each
   * connection. What has no values may be several statements.
   */
  queryOn(client: PoolClient, text: string, values: readonly unknown[] = []): Promise<QueryResult<DatabaseRow>> {
    const index = this.#indexes.get(text);
    if (index === undefined && values.length > 0 && this.#indexes.size < MOST_NAMED)
      this.#indexes.set(text, this.#indexes.size);
    const name = index === undefined || values.length === 0 ? undefined : `portcullis repeated ${index}`;
    return client.query<DatabaseRow>({ name, text, values: [...values] });
  }

  /** Statements in one transaction, which may run again. */
  transaction<Value>(work: (client: PoolClient) => Promise<Value>): Promise<Value> {
    return this.run((client) => inTransaction(client, work), { idempotent: true });
  }

  /**
   * Runs work on a connection, once the tables are there. Waits for a database that cannot be reached. Work that has
   * begun runs again if the database took nothing of it, or if it is idempotent.
   */
  async run<Value>(work: (client: PoolClient) => Promise<Value>, options: TransactionOptions = {}): Promise<Value> {
    return this.#attempt(async () => {
      await (this.#ready ??= this.#prepare());
      const release = await options.places?.take("");
      try {
        return await this.#once(work);
      } finally {
        release?.();
      }
    }, options);
  }

  /** A connection beside the pool. The caller ends it. */
  async connect(): Promise<Client> {
    const { Client: PgClient } = await loadPg();
    const client = new PgClient(await this.#config());
    client.on("error", () => {
      // Told by the event `end` too, which its owner listens to.
    });
    await client.connect();
    return client;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const pool = await this.#pool?.catch(() => undefined);
    await pool?.end();
  }

  async #prepare(): Promise<void> {
    try {
      await this.#once((client) => makeTables(client, this.schema, this.where));
    } catch (error) {
      this.#ready = undefined;
      throw error;
    }
  }

  async #once<Value>(work: (client: PoolClient) => Promise<Value>): Promise<Value> {
    const pool = await (this.#pool ??= this.#open());
    // It throws where a file that the URL names is missing.
    const client = await Promise.resolve()
      .then(() => pool.connect())
      .catch((error: unknown) => {
        throw new Undone(error);
      });
    let isBroken = true;
    try {
      const value = await work(client);
      isBroken = false;
      return value;
    } catch (error) {
      // A connection that had an error of the server's is as good as before; a transaction was rolled back.
      const cause = error instanceof Undone ? error.cause : error;
      const isUseless = faultOf(cause) === "lost" || UNUSABLE.has(sqlState(cause));
      isBroken = isUseless || client.getTransactionStatus() !== "I";
      throw error;
    } finally {
      client.release(isBroken);
    }
  }

  async #attempt<Value>(run: () => Promise<Value>, options: TransactionOptions): Promise<Value> {
    const { idempotent, onLost, unlessBlocked } = options;
    const { unavailableMs } = this.#options;
    const begun = monotonic();
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(2 * waitMs, MAX_RETRY_MS)) {
      if (this.#isClosed) throw new PortcullisError("runtime_closed", `The journal ${this.where} was closed.`);
      try {
        return await run();
      } catch (error) {
        const cause = error instanceof Undone ? error.cause : error;
        const fault = faultOf(cause);
        if (fault === "refused") {
          const failure = storeError(cause, this.where);
          // What has no code of PostgreSQL's is TLS, or the files that the URL names for it.
          throw failure === cause && error instanceof Undone ? unreachable(this.where, cause) : failure;
        }
        if (unlessBlocked && BLOCKED.has(sqlState(cause))) throw new BlockedError("", { cause });
        const isUndone = error instanceof Undone || fault === "later";
        if (!isUndone && !idempotent) throw unknownOutcome(this.where, cause);
        if (!isUndone) onLost?.();
        const waited = monotonic() - begun;
        if (waited + waitMs > unavailableMs) throw unavailable(this.where, Math.round(waited), cause);
      }
      await pause(waitMs * (0.5 + Math.random() / 2));
    }
  }

  async #open(): Promise<Pool> {
    const { Pool: PgPool } = await loadPg();
    const { connections } = this.#options;
    const pool = new PgPool({
      ...(await this.#config()),
      max: connections,
      idleTimeoutMillis: IDLE_MS,
      allowExitOnIdle: true,
    });
    const ignore = () => {
      // A connection was lost. The pool drops it, and the statement that was under way rejects.
    };
    pool.on("error", ignore);
    pool.on("connect", (client) => void client.on("error", ignore));
    return pool;
  }

  async #config(): Promise<PoolConfig> {
    const { url, statementMs, unavailableMs } = this.#options;
    return {
      connectionString: url,
      fallback_application_name: "portcullis",
      connectionTimeoutMillis: Math.min(CONNECTING_MS, Math.max(1000, unavailableMs)),
      query_timeout: statementMs + ANSWER_MS,
      keepAlive: true,
      pipeline: true,
      onConnect: (client) => client.query(settingsOf(statementMs)) as unknown as void,
    };
  }
}

type Pg = (typeof import("pg"))["default"];

/** The package that speaks PostgreSQL's protocol, loaded with the first use of such a journal: most programs have none. */
async function loadPg(): Promise<Pg> {
  const missing = "createPostgresJournal needs the package pg: npm install pg.";
  const { default: pg } = await loadPackage("journal_unavailable", missing, () => import("pg"));
  return pg;
}
