import type { Database } from "./connection/database.ts";
import { NOW } from "./tables/lease-times.ts";
import { quotedName } from "./tables/tables.ts";

const PAGE = 256;

/** The executions are locked first: records that are appended until then are deleted with them. */
export function deletePage(database: Database, before: number, open: boolean): Promise<number> {
  const schema = quotedName(database.schema);
  return database.transaction(async (client) => {
    const { rows } = await client.query<{ readonly number: string }>(
      `SELECT number FROM ${schema}.executions AS one WHERE started_at < $1
         AND (ended OR ($2 AND coalesce(leased_until, 0) < ${NOW}))
         AND NOT EXISTS (SELECT 1 FROM ${schema}.executions AS above WHERE above.id = one.parent AND NOT above.ended
           AND (NOT $2 OR above.started_at >= $1 OR coalesce(above.leased_until, 0) >= ${NOW}))
         ORDER BY number LIMIT ${PAGE} FOR UPDATE SKIP LOCKED`,
      [before, open],
    );
    const numbers = rows.map(({ number }) => number);
    if (numbers.length === 0) return 0;
    for (const rowsOf of ["records WHERE execution", "uses WHERE execution", "executions WHERE number"])
      await client.query(`DELETE FROM ${schema}.${rowsOf} = ANY($1)`, [numbers]);
    return numbers.length;
  });
}

/** Texts without a use. While a page of them is deleted, no use can be added, and it is looked again who has one. */
export async function deleteUnused(database: Database): Promise<void> {
  const schema = quotedName(database.schema);
  const unused = `NOT EXISTS (SELECT 1 FROM ${schema}.uses AS u WHERE u.tenant = t.tenant AND u.sha256 = t.sha256)`;
  for (;;) {
    const { rows } = await database.query({
      text: `SELECT tenant, sha256 FROM ${schema}.texts AS t WHERE ${unused} LIMIT ${PAGE}`,
    });
    if (rows.length === 0) return;
    await database.transaction(async (client) => {
      await client.query(`LOCK TABLE ${schema}.uses IN SHARE ROW EXCLUSIVE MODE`);
      await client.query(
        `DELETE FROM ${schema}.texts AS t USING unnest($1::text[], $2::text[]) AS old (tenant, sha256)
           WHERE t.tenant = old.tenant AND t.sha256 = decode(old.sha256, 'hex') AND ${unused}`,
        [rows.map(({ tenant }) => tenant), rows.map(({ sha256 }) => (sha256 as Buffer).toString("hex"))],
      );
    });
  }
}
