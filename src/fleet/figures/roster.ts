import { FleetTable } from "../queue/fleet-table.ts";
import type { QueueDatabase } from "../queue/queue-database.ts";

/** What a worker tells of itself. */
export interface WorkerFigures {
  /** Executions that it may drive at once. */
  readonly places: number;
  readonly driven: number;
  /** Executions that it has claimed since it told last. */
  readonly claims: number;
  /** How many of these another driver had left without giving them back. */
  readonly takeovers: number;
}

/** What all workers of a fleet tell together. Claims and takeovers are of all workers that there ever were. */
export interface RosterFigures extends WorkerFigures {
  readonly workers: number;
}

/** A worker that has told nothing for so long counts as gone, in milliseconds. */
const GONE_MS = 30_000;

const COLUMNS = `id text PRIMARY KEY, places int NOT NULL, driven int NOT NULL, claims bigint NOT NULL,
  takeovers bigint NOT NULL, seen_at timestamptz NOT NULL DEFAULT now()`;
/** The row that has the claims of workers that are gone. */
const GONE = "";

/** The workers of a fleet. Each tells of itself again and again, so that any process can tell of all. */
export interface Roster {
  tell(worker: string, figures: WorkerFigures): Promise<void>;
  /** The worker ends. */
  leave(worker: string): Promise<void>;
  read(): Promise<RosterFigures>;
}

/** The roster of a fleet in a database, beside the tables of its queue. */
export class DatabaseRoster implements Roster {
  readonly #table: FleetTable;

  constructor(database: QueueDatabase) {
    this.#table = new FleetTable(database, "workers", COLUMNS);
  }

  async tell(worker: string, { places, driven, claims, takeovers }: WorkerFigures): Promise<void> {
    await this.#table.query(
      `INSERT INTO ${this.#table.name} AS w (id, places, driven, claims, takeovers) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (id) DO UPDATE SET places = $2, driven = $3, claims = w.claims + $4, takeovers = w.takeovers + $5, seen_at = now()`,
      [worker, places, driven, claims, takeovers],
    );
  }

  async leave(worker: string): Promise<void> {
    await this.#forget("id = $1", [worker]);
  }

  async read(): Promise<RosterFigures> {
    await this.#forget("seen_at < now() - $1 * interval '1 millisecond'", [GONE_MS]);
    const { rows } = await this.#table.query(
      `SELECT count(*) FILTER (WHERE id <> '${GONE}')::int AS workers, coalesce(sum(places), 0)::int AS places,
         coalesce(sum(driven), 0)::int AS driven, coalesce(sum(claims), 0)::float8 AS claims,
         coalesce(sum(takeovers), 0)::float8 AS takeovers FROM ${this.#table.name}`,
    );
    return rows[0] as unknown as RosterFigures;
  }

  /** What a worker has claimed is counted on when it is gone. */
  async #forget(condition: string, values: readonly unknown[]): Promise<void> {
    await this.#table.query(
      `WITH gone AS (DELETE FROM ${this.#table.name} WHERE id <> '${GONE}' AND ${condition} RETURNING claims, takeovers)
       INSERT INTO ${this.#table.name} AS w (id, places, driven, claims, takeovers)
       SELECT '${GONE}', 0, 0, sum(claims), sum(takeovers) FROM gone HAVING count(*) > 0
       ON CONFLICT (id) DO UPDATE SET claims = w.claims + excluded.claims, takeovers = w.takeovers + excluded.takeovers`,
      values,
    );
  }
}

/** The roster of a fleet that is one process. */
export class ProcessRoster implements Roster {
  readonly #workers = new Map<string, WorkerFigures>();
  #claims = 0;
  #takeovers = 0;

  async tell(worker: string, figures: WorkerFigures): Promise<void> {
    this.#workers.set(worker, figures);
    this.#claims += figures.claims;
    this.#takeovers += figures.takeovers;
  }

  async leave(worker: string): Promise<void> {
    this.#workers.delete(worker);
  }

  async read(): Promise<RosterFigures> {
    const all = [...this.#workers.values()];
    const sum = (of: "places" | "driven") => all.reduce((total, figures) => total + figures[of], 0);
    const [claims, takeovers] = [this.#claims, this.#takeovers];
    return { workers: all.length, places: sum("places"), driven: sum("driven"), claims, takeovers };
  }
}
