import { FleetTable } from "./queue/fleet-table.ts";
import type { QueueDatabase } from "./queue/queue-database.ts";

/** Lets one process of a fleet do what need not be done by all, in turn. Without a database each process does it. */
export class Turns {
  readonly #table: FleetTable | undefined;

  constructor(database: QueueDatabase | undefined) {
    this.#table = database && new FleetTable(database, "turns", "name text PRIMARY KEY, taken_at timestamptz NOT NULL");
  }

  /** Whether this process takes the turn that begins now. There is one in so many milliseconds, by the database's clock. */
  async take(name: string, everyMs: number): Promise<boolean> {
    const table = this.#table;
    if (!table) return true;
    // A little less, so that processes whose timers agree do not pass by every second turn.
    const { rows } = await table.query(
      `INSERT INTO ${table.name} AS t (name, taken_at) VALUES ($1, now())
       ON CONFLICT (name) DO UPDATE SET taken_at = now()
       WHERE t.taken_at < now() - $2 * interval '0.9 milliseconds' RETURNING name`,
      [name, everyMs],
    );
    return rows.length > 0;
  }
}
