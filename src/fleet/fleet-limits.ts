import { randomUUID } from "node:crypto";
import { every, monotonic, pause, type Rate, ignore } from "../base/index.ts";
import type { FleetLimits } from "../runtime/fleet.ts";
import type { FleetDatabase } from "./fleet-store.ts";
import { queueSchema } from "./queue/queue-schema.ts";

/** After this time without a word of its holder a place is free, and how often a holder gives one, in milliseconds. */
const [LEASE_MS, TELL_MS] = [10_000, 2000];
/** Starts are counted together by tenths of the rate's span, of at least and at most so many milliseconds. */
const [LEAST_SLICE_MS, MOST_SLICE_MS] = [100, 1000];

const NOW_MS = "extract(epoch FROM clock_timestamp()) * 1000";

/**
 * What bounds the tools of all workers, by the database's clock: a row for each bound, which a statement changes whole. The
 * row of a concurrency is a line of entries, `[id, until]`, of which the first ones have the places; that of a rate has
 * the number of starts by slices of time.
 */
export class PostgresLimits implements FleetLimits {
  readonly #database: FleetDatabase;
  readonly #table: string;
  readonly #channel: string;
  /** Those that wait, by their entries: a notice names the entry that has come to its turn. */
  readonly #waiting = new Map<string, () => void>();
  readonly #leaving = new Set<Promise<void>>();
  #listening: Disposable | undefined;

  constructor(database: FleetDatabase) {
    const schema = queueSchema(database.schema);
    this.#database = database;
    this.#table = `${schema}.limits`;
    this.#channel = `${schema}_places`;
  }

  async run<Value>(key: string, most: number, run: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
    const entry = randomUUID();
    const stands = () => this.#stand(`places ${key}`, entry, most).catch(() => false);
    let telling: Promise<unknown> | undefined;
    let notice = new AbortController();
    this.#waiting.set(entry, () => notice.abort());
    this.#listening ??= this.#database.onNotify(this.#channel, (payload) => this.#hear(payload));
    try {
      signal.throwIfAborted();
      while (!(await stands())) {
        // A holder that died tells nobody.
        await pause(TELL_MS * (0.5 + Math.random()), { signal: AbortSignal.any([signal, notice.signal]) });
        signal.throwIfAborted();
        notice = new AbortController();
      }
      using _ = every(TELL_MS, () => {
        telling ??= stands().finally(() => {
          telling = undefined;
        });
      }).unref();
      return await run();
    } finally {
      this.#waiting.delete(entry);
      // A statement under way would stand in the line again for what has left it, and keep the place for a lease.
      const cleanup = Promise.resolve(telling)
        .then(() => this.#leave(`places ${key}`, entry, most))
        .finally(() => this.#leaving.delete(cleanup));
      this.#leaving.add(cleanup);
    }
  }

  async start(key: string, rate: Rate, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      if (await this.mayStart(key, rate).catch(() => false)) return;
      await pause(sliceOf(rate) * Math.random(), { signal });
    }
  }

  /**
   * Whether one more may start now. A slice counts until the span after it is over, and one more slice for starts that are
   * made later than they were given: there are never more than `calls` in a span, wherever it begins.
   */
  async mayStart(key: string, rate: Rate): Promise<boolean> {
    const asked = monotonic();
    const sliceMs = sliceOf(rate);
    const slice = `(${NOW_MS} / $2::float8)::bigint`;
    const { rows } = await this.#database.query(
      `INSERT INTO ${this.#table} AS l VALUES ($1, jsonb_build_object(${slice}, 1))
       ON CONFLICT (key) DO UPDATE SET state = (
         WITH one AS MATERIALIZED (SELECT ${slice} AS slice)
         SELECT jsonb_object_agg(at, starts) FROM (
           SELECT at, sum(starts) AS starts FROM (
             SELECT key::bigint AS at, value::int AS starts FROM jsonb_each_text(l.state) UNION ALL SELECT slice, 1 FROM one
           ) AS each, one WHERE at > slice - $3 GROUP BY at
         ) AS counted
       ) WHERE (
         SELECT coalesce(sum(value::int), 0) FROM jsonb_each_text(l.state) WHERE key::bigint > ${slice} - $3
       ) < $4 RETURNING key`,
      [`starts ${key}`, sliceMs, Math.ceil(rate.perMs / sliceMs) + 2, rate.calls],
    );
    return rows.length > 0 && monotonic() - asked <= sliceMs;
  }

  /** Resolves once what this process holds is given back. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#leaving);
    this.#listening?.[Symbol.dispose]();
  }

  #hear(payload: string | undefined): void {
    if (payload !== undefined) this.#waiting.get(payload)?.();
    else for (const tell of this.#waiting.values()) tell();
  }

  /** Stands in the line, at its end if it is new, or goes on to. Resolves with whether it has a place. */
  async #stand(key: string, entry: string, most: number): Promise<boolean> {
    const { rows } = await this.#database.query(
      `INSERT INTO ${this.#table} AS l VALUES ($1, jsonb_build_array(jsonb_build_array($2::text, ${NOW_MS} + ${LEASE_MS})))
       ON CONFLICT (key) DO UPDATE SET state = (
         SELECT jsonb_agg(jsonb_build_array(id, CASE WHEN id = $2 THEN ${NOW_MS} + ${LEASE_MS} ELSE until END) ORDER BY place)
         FROM (
           SELECT e->>0 AS id, (e->>1)::float8 AS until, place FROM jsonb_array_elements(l.state) WITH ORDINALITY AS a (e, place)
           UNION ALL SELECT $2, 0, 1 + jsonb_array_length(l.state) WHERE NOT l.state @> jsonb_build_array(jsonb_build_array($2::text))
         ) AS line WHERE id = $2 OR until > ${NOW_MS}
       ) RETURNING (
         SELECT place FROM jsonb_array_elements(l.state) WITH ORDINALITY AS a (e, place) WHERE e->>0 = $2
       ) <= $3 AS has_place`,
      [key, entry, most],
      { idempotent: true },
    );
    return rows[0]?.["has_place"] === true;
  }

  /** If the database cannot be reached, the place ends with its lease. */
  async #leave(key: string, entry: string, most: number): Promise<void> {
    await this.#database
      .query(
        `WITH gone AS (
           UPDATE ${this.#table} AS l SET state = (
             SELECT coalesce(jsonb_agg(e ORDER BY place), '[]') FROM jsonb_array_elements(l.state) WITH ORDINALITY AS a (e, place)
             WHERE e->>0 <> $2 AND (e->>1)::float8 > ${NOW_MS}
           ) WHERE key = $1 RETURNING state->($3::int - 1)->>0 AS next
         ) SELECT pg_notify($4, next) FROM gone WHERE next IS NOT NULL`,
        [key, entry, most, this.#channel],
        { idempotent: true },
      )
      .catch(ignore);
  }
}

function sliceOf({ perMs }: Rate): number {
  return Math.min(Math.max(perMs / 10, LEAST_SLICE_MS), MOST_SLICE_MS);
}
