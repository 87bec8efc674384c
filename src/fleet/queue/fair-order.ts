import { monotonic } from "../../base/index.ts";
import type { ExecuteSql } from "../../journal/journal.ts";
import type { FleetDatabase } from "../fleet-store.ts";
import { QUEUE } from "./queue-schema.ts";

/** How old what is known of the queue may be before it is read again, and before a wake waits for that, in milliseconds. */
const [REFRESH_MS, STALE_MS] = [250, 1000];
/** The largest place: that of a column of integers. Wakes that come there are taken in order of arrival. */
const LAST_PLACE = 2 ** 31 - 1;
/** Beyond it places begin anew as soon as the queue is empty. */
const BEGINS_ANEW = 2 ** 30;

/** Wakes of executions that were submitted, and of those that go on, stand in lines of their own: a backlog holds up no decision. */
type Line = "new" | "goes on";

/**
 * Gives wakes their places in the queue, so that tenants are served in turn: start-time fair queueing. Each wake of a line
 * stands one place behind the last one of the same line, or right behind what the queue has come to, if that is further. So
 * a tenant with many wakes has one or two at each place, and the wake of another stands before nearly all of them. Processes
 * place the wakes that they send, without asking each other: they share only how far the queue has come.
 */
export class FairOrder {
  readonly #database: FleetDatabase;
  readonly #schema: string;
  /** The last place that this process gave, by tenant and line. */
  readonly #last = new Map<string, number>();
  #come = 0;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(database: FleetDatabase, schema: string) {
    this.#database = database;
    this.#schema = schema;
  }

  /** Creates the fleet's tables beside pg-boss', which is safe if many processes do so at once, and reads how far the queue has come. */
  async open(): Promise<void> {
    await this.#database.query(
      `BEGIN; SELECT pg_advisory_xact_lock(hashtext('${this.#table}'));
       CREATE TABLE IF NOT EXISTS ${this.#table} (queue text PRIMARY KEY, place bigint NOT NULL);
       CREATE TABLE IF NOT EXISTS ${this.#schema}.limits (key text PRIMARY KEY, state jsonb NOT NULL);
       INSERT INTO ${this.#table} VALUES ('${QUEUE}', 0) ON CONFLICT DO NOTHING; COMMIT`,
    );
    await this.#refresh();
  }

  /** The priority of a wake that is sent now: the higher, the earlier it is taken. `within` is the transaction that it is part of. */
  async priorityOf(tenant: string, line: Line, within?: ExecuteSql): Promise<number> {
    const age = monotonic() - this.#readAt;
    // Another connection is not waited for inside of a transaction: all may be in transactions.
    if (age > STALE_MS && within) this.#take(await this.#read(within));
    else if (age > STALE_MS) await this.#refresh();
    if (age > REFRESH_MS) this.#refresh().catch(() => {});
    const key = `${line} ${tenant}`;
    const place = Math.min(LAST_PLACE, Math.max(this.#come, this.#last.get(key) ?? 0) + 1);
    this.#last.set(key, place);
    return -place;
  }

  async close(): Promise<void> {
    await this.#reading?.catch(() => {});
  }

  get #table(): string {
    return `${this.#schema}.places`;
  }

  #refresh(): Promise<void> {
    this.#reading ??= this.#readAndKeep().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readAndKeep(): Promise<void> {
    const come = await this.#read((text, values) => this.#database.query(text, values));
    this.#take(come);
    // Others may have read later, and written already.
    await this.#database.query(
      `UPDATE ${this.#table} SET place = $2 WHERE queue = $1 AND (place < $2 OR ($2 = 0 AND place > ${BEGINS_ANEW}))`,
      [QUEUE, come],
    );
  }

  /** How far the queue has come: the place of the first wake that could be taken, and never less than before. */
  async #read(query: ExecuteSql): Promise<number> {
    const waiting = `SELECT -priority AS place FROM ${this.#schema}.job WHERE name = $1 AND state < 'active' AND NOT blocked`;
    const { rows } = await query(
      `SELECT CASE WHEN place > ${BEGINS_ANEW} AND NOT EXISTS (${waiting}) THEN 0 ELSE greatest(place,
         (${waiting} AND start_after <= now() ORDER BY priority DESC, created_on LIMIT 1)) END::float8 AS come
       FROM ${this.#table} WHERE queue = $1`,
      [QUEUE],
    );
    return Number(rows[0]?.["come"] ?? 0);
  }

  #take(come: number): void {
    const beginsAnew = come < this.#come - BEGINS_ANEW / 2;
    this.#come = beginsAnew ? come : Math.max(this.#come, come);
    this.#readAt = monotonic();
    for (const [key, place] of this.#last) if (beginsAnew || place <= this.#come) this.#last.delete(key);
  }
}
