import { monotonic, ignore } from "../../base/index.ts";
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
export function fairOrder(database: FleetDatabase, schema: string) {
  /** The last place that this process gave, by tenant and line. */
  const last = new Map<string, number>();
  let come = 0;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  const take = (now: number): void => {
    const beginsAnew = now < come - BEGINS_ANEW / 2;
    come = beginsAnew ? now : Math.max(come, now);
    readAt = monotonic();
    for (const [key, place] of last) if (beginsAnew || place <= come) last.delete(key);
  };
  const refresh = (): Promise<void> => {
    reading ??= readAndKeep(database, schema, take).finally(() => {
      reading = undefined;
    });
    return reading;
  };
  return {
    /** Creates the fleet's tables beside pg-boss', which is safe if many processes do so at once, and reads how far the queue has come. */
    async open(): Promise<void> {
      await database.query(tablesText(schema));
      await refresh();
    },

    /** The priority of a wake that is sent now: the higher, the earlier it is taken. `within` is the transaction that it is part of. */
    async priorityOf(tenant: string, line: Line, within?: ExecuteSql): Promise<number> {
      const age = monotonic() - readAt;
      // Another connection is not waited for inside of a transaction: all may be in transactions.
      if (age > STALE_MS && within) take(await readCome(within, schema));
      else if (age > STALE_MS) await refresh();
      if (age > REFRESH_MS) refresh().catch(ignore);
      const key = `${line} ${tenant}`;
      const place = Math.min(LAST_PLACE, Math.max(come, last.get(key) ?? 0) + 1);
      last.set(key, place);
      return -place;
    },

    async close(): Promise<void> {
      await reading?.catch(ignore);
    },
  };
}

const tablesText = (schema: string) => `
  BEGIN; SELECT pg_advisory_xact_lock(hashtext('${schema}.places'));
  CREATE TABLE IF NOT EXISTS ${schema}.places (queue text PRIMARY KEY, place bigint NOT NULL);
  CREATE TABLE IF NOT EXISTS ${schema}.limits (key text PRIMARY KEY, state jsonb NOT NULL);
  INSERT INTO ${schema}.places VALUES ('${QUEUE}', 0) ON CONFLICT DO NOTHING; COMMIT`;

async function readAndKeep(database: FleetDatabase, schema: string, take: (come: number) => void): Promise<void> {
  const come = await readCome((text, values) => database.query(text, values), schema);
  take(come);
  // Others may have read later, and written already.
  await database.query(
    `UPDATE ${schema}.places SET place = $2 WHERE queue = $1 AND (place < $2 OR ($2 = 0 AND place > ${BEGINS_ANEW}))`,
    [QUEUE, come],
  );
}

/** How far the queue has come: the place of the first wake that could be taken, and never less than before. */
async function readCome(query: ExecuteSql, schema: string): Promise<number> {
  const waiting = `SELECT -priority AS place FROM ${schema}.job WHERE name = $1 AND state < 'active' AND NOT blocked`;
  const { rows } = await query(
    `SELECT CASE WHEN place > ${BEGINS_ANEW} AND NOT EXISTS (${waiting}) THEN 0 ELSE greatest(place,
       (${waiting} AND start_after <= now() ORDER BY priority DESC, created_on LIMIT 1)) END::float8 AS come
     FROM ${schema}.places WHERE queue = $1`,
    [QUEUE],
  );
  return Number(rows[0]?.["come"] ?? 0);
}
