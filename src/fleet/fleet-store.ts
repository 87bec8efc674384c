import { type ExecutionId, now } from "../base/index.ts";
import type { Head, WorkerNeeds } from "../journal/journal.ts";
import type { PostgresJournal } from "./postgres/postgres-journal.ts";
import { readName, storedName } from "./postgres/tables/names.ts";
import { isNeed, storedNeeds } from "./postgres/tables/needs-text.ts";
import { quotedName } from "./postgres/tables/tables.ts";
import { QUEUE, queueSchema } from "./queue/queue-schema.ts";

export interface Wake {
  readonly execution: ExecutionId;
  readonly tenant: string;
  /** How long it is left alone first, in milliseconds. */
  readonly afterMs?: number;
  /** Whether the execution was submitted and no driver has claimed it. */
  readonly isNew?: boolean;
  /** How often it could not be driven since it was last driven. */
  readonly failures?: number;
}

/** The database of a fleet: that of the journal, over its connections. */
export type FleetDatabase = Pick<PostgresJournal, "schema" | "query" | "onNotify">;

/** This moment, in milliseconds since 1970. Leases and rests are kept by the database's clock. */
const NOW = "(extract(epoch FROM now()) * 1000)::bigint";
/** Longest rest, in milliseconds: what is later is never. */
const FOREVER_MS = 2 ** 52;
/** Submitted executions that are looked at in one round. Where many wait for a worker, their wakes are mostly there. */
const PAGE = 500;

export class FleetStore {
  readonly #database: FleetDatabase;
  readonly #executions: string;
  readonly #jobs: string;
  /** Of the submitted execution at which the last round has ended. */
  #number: unknown = 0;

  constructor(database: FleetDatabase) {
    this.#database = database;
    this.#executions = `${quotedName(database.schema)}.executions`;
    this.#jobs = `${queueSchema(database.schema)}.job`;
  }

  /**
   * Notes that an execution rests, which no driver holds and which has this head, until this time or until something is
   * appended. Resolves with false if its head has moved, if that of one of its programs is another one, or if a driver holds it.
   */
  async rest(execution: ExecutionId, head: Head, until: number, programs: ReadonlyMap<ExecutionId, Head> = new Map()) {
    const { rows } = await this.#query(
      `UPDATE ${this.#executions} SET rests_until = ${NOW} + $3::bigint
       WHERE id = $1 AND head = $2 AND (leased_until IS NULL OR leased_until <= ${NOW}) AND NOT EXISTS (
         SELECT 1 FROM unnest($4::text[], $5::int[]) AS p (id, head) JOIN ${this.#executions} AS e USING (id)
         WHERE e.head <> p.head
       ) RETURNING id`,
      [
        storedName(execution),
        head,
        Math.round(Math.min(until - now(), FOREVER_MS)),
        [...programs.keys()].map(storedName),
        [...programs.values()],
      ],
    );
    return rows.length > 0;
  }

  async held(): Promise<ReadonlyMap<string, number>> {
    const { rows } = await this.#query(
      `SELECT tenant, count(*)::int AS held FROM ${this.#executions}
       WHERE NOT ended AND rests_until IS NULL AND leased_until > ${NOW} GROUP BY tenant`,
    );
    return new Map(rows.map(({ tenant, held }) => [readName(String(tenant)), Number(held)]));
  }

  /** Notes what a worker lacked for an execution that no driver holds, until one claims it or it ends. */
  async lack(execution: ExecutionId, needs: WorkerNeeds): Promise<void> {
    await this.#query(
      `UPDATE ${this.#executions} SET needs = $2
       WHERE id = $1 AND NOT ended AND (leased_until IS NULL OR leased_until <= ${NOW}) AND needs IS DISTINCT FROM $2`,
      [storedName(execution), storedNeeds(needs)],
    );
  }

  /** Number of executions that wait for a worker with what they need, by what that is. */
  async lacking(): Promise<ReadonlyMap<WorkerNeeds["what"], number>> {
    const { rows } = await this.#query(
      `SELECT split_part(needs, E'\\n', 1) AS what, count(*)::int AS executions FROM ${this.#executions}
       WHERE needs IS NOT NULL AND coalesce(rests_until, 0) <= ${NOW} AND coalesce(leased_until, 0) <= ${NOW} GROUP BY 1`,
    );
    return new Map(rows.flatMap(({ what, executions }) => (isNeed(what) ? [[what, Number(executions)]] : [])));
  }

  /**
   * Executions that go on and that no wake names: their driver died, or the queue was emptied. Of those that were submitted it
   * looks at a page each time. A wake that was handed out more than `staleMs` ago names none.
   */
  async lost(staleMs: number): Promise<readonly Wake[]> {
    const open = `SELECT number, id, tenant, leased_until FROM ${this.#executions} WHERE NOT ended AND kind <> 'call'`;
    const { rows } = await this.#query(
      `WITH due AS (
         ${open} AND rests_until IS NULL AND leased_until <= ${NOW}
         UNION ALL ${open} AND rests_until <= ${NOW} AND coalesce(leased_until, 0) <= ${NOW}
         UNION ALL (${open} AND rests_until IS NULL AND leased_until IS NULL AND number > $3 ORDER BY number LIMIT ${PAGE})
       ), named AS MATERIALIZED (
         SELECT singleton_key FROM ${this.#jobs} WHERE name = $1 AND state < 'active' AND singleton_key IS NOT NULL
         AND singleton_key = ANY(ARRAY(SELECT id COLLATE "default" FROM due))
         UNION ALL SELECT singleton_key FROM ${this.#jobs}
         WHERE name = $1 AND state = 'active' AND started_on > now() - $2 * interval '1 millisecond'
       )
       SELECT *, id <> ALL(ARRAY(SELECT singleton_key FROM named)) AS is_lost FROM due ORDER BY number`,
      [QUEUE, staleMs, this.#number],
    );
    const submitted = rows.filter((row) => row["leased_until"] === null);
    this.#number = submitted.length < PAGE ? 0 : submitted.at(-1)?.["number"];
    return rows.flatMap(({ id, tenant, leased_until, is_lost }) =>
      is_lost === true
        ? [{ execution: readName(String(id)), tenant: readName(String(tenant)), isNew: leased_until === null }]
        : [],
    );
  }

  #query(text: string, values: readonly unknown[] = []) {
    return this.#database.query(text, values, { idempotent: true });
  }
}
