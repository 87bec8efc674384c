import type { QueueDatabase } from "./queue/queue-database.ts";

/** Lets one process of a fleet do what need not be done by all, in turn. Without a database each process does it. */
export class Turns {
  readonly #database: QueueDatabase | undefined;
  #made: Promise<unknown> | undefined;

  constructor(database: QueueDatabase | undefined) {
    this.#database = database;
  }

  /** Whether this process takes the turn that begins now. There is one in so many milliseconds, by the database's clock. */
  async take(name: string, everyMs: number): Promise<boolean> {
    const database = this.#database;
    if (!database) return true;
    await this.#table(database);
    // A little less, so that processes whose timers agree do not pass by every second turn.
    const { rows } = await database.query(
      `INSERT INTO ${TABLE} (name, taken_at) VALUES ($1, now())
       ON CONFLICT (name) DO UPDATE SET taken_at = now()
       WHERE ${TABLE}.taken_at < now() - $2 * interval '0.9 milliseconds' RETURNING name`,
      [name, everyMs],
    );
    return rows.length > 0;
  }

  async #table(database: QueueDatabase): Promise<void> {
    this.#made ??= database.query(
      // Two processes that create a table at once: one would fail.
      `BEGIN; SELECT pg_advisory_xact_lock(hashtext('${TABLE}'));
       CREATE TABLE IF NOT EXISTS ${TABLE} (name text PRIMARY KEY, taken_at timestamptz NOT NULL); COMMIT`,
    );
    try {
      await this.#made;
    } catch (error) {
      this.#made = undefined;
      throw error;
    }
  }
}

const TABLE = "portcullis_queue.turns";
