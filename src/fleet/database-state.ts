import { pause } from "../clock.ts";
import type { Changed, SharedState } from "../places/shared-state.ts";
import { FleetTable } from "./queue/fleet-table.ts";
import type { QueueDatabase } from "./queue/queue-database.ts";

/** Wait between two attempts, in milliseconds, each time up to so much longer. */
const RETRY_MS = 5;
const ATTEMPTS = 50;

/** States that the processes of a fleet share, in its database, by the database's clock. A change is a compare-and-swap. */
export class DatabaseState implements SharedState {
  readonly #table: FleetTable;
  readonly #leaving: (() => Promise<void>)[] = [];

  constructor(database: QueueDatabase) {
    this.#table = new FleetTable(
      database,
      "states",
      "key text PRIMARY KEY, version bigint NOT NULL, state text NOT NULL",
    );
  }

  async update<State, Result>(
    key: string,
    change: (state: State | undefined, now: number) => Changed<State, Result>,
  ): Promise<Result> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const { rows } = await this.#table.query(
        `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now, version::text, state
         FROM (SELECT 1) AS one LEFT JOIN ${this.#table.name} ON key = $1`,
        [key],
      );
      const { now, version = null, state } = rows[0] ?? {};
      const known = typeof state === "string" ? (JSON.parse(state) as State) : undefined;
      const changed = change(known, Number(now));
      if (await this.#swap(key, version, JSON.stringify(changed.state))) return changed.result;
      await pause(Math.random() * RETRY_MS * (attempt + 1));
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
        ? await this.#table.query(
            `INSERT INTO ${this.#table.name} (key, version, state) VALUES ($1, 1, $2) ON CONFLICT DO NOTHING RETURNING key`,
            [key, state],
          )
        : await this.#table.query(
            `UPDATE ${this.#table.name} SET version = version + 1, state = $3 WHERE key = $1 AND version = $2::bigint RETURNING key`,
            [key, version, state],
          );
    return rows.length > 0;
  }
}
