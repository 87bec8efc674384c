import type { Changed, SharedState } from "../places/shared-state.ts";
import type { QueueDatabase } from "./queue/queue-database.ts";

/** Wait between two attempts, in milliseconds, each time up to so much longer. */
const RETRY_MS = 5;
const ATTEMPTS = 50;

const TABLE = "portcullis_queue.states";

/** States that the processes of a fleet share, in its database, by the database's clock. A change is a compare-and-swap. */
export class DatabaseState implements SharedState {
  readonly #database: QueueDatabase;
  readonly #leaving: (() => Promise<void>)[] = [];
  #made: Promise<unknown> | undefined;

  constructor(database: QueueDatabase) {
    this.#database = database;
  }

  async update<State, Result>(
    key: string,
    change: (state: State | undefined, now: number) => Changed<State, Result>,
  ): Promise<Result> {
    await this.#table();
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const { rows } = await this.#database.query(
        `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now, version::text, state
         FROM (SELECT 1) AS one LEFT JOIN ${TABLE} ON key = $1`,
        [key],
      );
      const { now, version = null, state } = rows[0] ?? {};
      const known = typeof state === "string" ? (JSON.parse(state) as State) : undefined;
      const changed = change(known, Number(now));
      if (await this.#swap(key, version, JSON.stringify(changed.state))) return changed.result;
      await new Promise((resolve) => void setTimeout(resolve, Math.random() * RETRY_MS * (attempt + 1)));
    }
    throw new Error(`The state ${key} is changed by too many processes at once.`);
  }

  onLeave(giveBack: () => Promise<void>): void {
    this.#leaving.push(giveBack);
  }

  /** Gives back what this process holds. */
  async leave(): Promise<void> {
    await Promise.allSettled(this.#leaving.splice(0).map((giveBack) => giveBack()));
  }

  async #swap(key: string, version: unknown, state: string): Promise<boolean> {
    const { rows } =
      version === null
        ? await this.#database.query(
            `INSERT INTO ${TABLE} (key, version, state) VALUES ($1, 1, $2) ON CONFLICT DO NOTHING RETURNING key`,
            [key, state],
          )
        : await this.#database.query(
            `UPDATE ${TABLE} SET version = version + 1, state = $3 WHERE key = $1 AND version = $2::bigint RETURNING key`,
            [key, version, state],
          );
    return rows.length > 0;
  }

  async #table(): Promise<void> {
    this.#made ??= this.#database
      .query(
        // Two processes that create a table at once: one would fail.
        `BEGIN; SELECT pg_advisory_xact_lock(hashtext('${TABLE}'));
         CREATE TABLE IF NOT EXISTS ${TABLE} (key text PRIMARY KEY, version bigint NOT NULL, state text NOT NULL); COMMIT`,
      )
      .catch((error: unknown) => {
        this.#made = undefined;
        throw error;
      });
    await this.#made;
  }
}
