import { now } from "../../base/index.ts";
import { type Change, FIRST_MOMENT, isGivenBack } from "../../journal/packing/index.ts";
import type { Head } from "../../journal/journal.ts";
import type { DatabaseRow, Statement } from "./connection/database.ts";
import { quotedName } from "./tables/tables.ts";
import { keptTime } from "./tables/lease-times.ts";
import { storedName } from "./tables/names.ts";

export interface ChangeResult {
  /** Key of the execution's records. */
  readonly number: string;
  readonly head: Head;
}

const BY_DRIVER = -1;

/**
 * One statement for changes of different executions: moves each head that is the expected one, and inserts the records
 * of these executions alone. A change whose head is another one does nothing, and undoes none of the others.
 */
export const changeText = (schema: string): string => `
  WITH given AS (
    SELECT place, id, expected, count, ends, driver, ${keptTime("until", "$15::bigint")} AS until, kind, tenant, parent, started_at FROM unnest(
      $1::int[], $2::text[], $3::int[], $4::int[], $5::bool[], $6::text[], $7::bigint[], $8::text[], $9::text[], $10::text[], $11::bigint[]
    ) AS g (place, id, expected, count, ends, driver, until, kind, tenant, parent, started_at)
  ), made AS (
    INSERT INTO ${schema}.executions (id, kind, tenant, parent, started_at, head, ended, driver, leased_until)
    SELECT id, kind, tenant, parent, started_at, count, ends, driver, until FROM given WHERE expected = 0
    ON CONFLICT (id) DO NOTHING
    RETURNING number, id, head
  ), moved AS (
    UPDATE ${schema}.executions AS e
    SET head = e.head + g.count,
      ended = e.ended OR g.ends,
      driver = coalesce(g.driver, e.driver),
      leased_until = CASE WHEN g.driver IS NULL THEN e.leased_until ELSE g.until END,
      rests_until = CASE WHEN g.count > 0 THEN NULL ELSE e.rests_until END,
      needs = CASE WHEN g.driver IS NULL AND NOT g.ends THEN e.needs END
    FROM given AS g
    WHERE e.id = g.id
      AND CASE WHEN g.expected = ${BY_DRIVER} THEN e.driver = g.driver ELSE g.expected > 0 AND e.head = g.expected END
    RETURNING e.number, e.id, e.head
  ), changed AS (
    SELECT g.place, g.expected, c.* FROM (SELECT * FROM made UNION ALL SELECT * FROM moved) AS c JOIN given AS g USING (id)
  ), written AS (
    INSERT INTO ${schema}.records (execution, position, record)
    SELECT c.number, c.expected + r.index, r.record
    FROM unnest($12::int[], $13::int[], string_to_array($14, E'\\n')) AS r (place, index, record)
    JOIN changed AS c USING (place)
  )
  SELECT place, number, head FROM changed`;

/** The values of that statement, for at least one change. The texts of the records are JSON, which has no line feed outside of what it escapes. */
export function changeValues(changes: readonly Change[], withRecords: boolean): unknown[] {
  const records = withRecords
    ? changes.flatMap(({ records: own }, place) => own.map(({ text }, index) => ({ place, index, text })))
    : [];
  const name = (text: string | undefined) => (text === undefined ? null : storedName(text));
  const rows = changes.map(({ execution, expected, records: own, ends, lease, header }, place) => [
    place,
    storedName(execution),
    expected ?? BY_DRIVER,
    own.length,
    ends,
    name(lease?.driver),
    lease?.until ?? null,
    header?.kind ?? null,
    name(header?.tenant),
    name(header?.parent?.execution),
    header?.startedAt ?? null,
  ]);
  return [
    ...rows[0]!.map((_, column) => rows.map((row) => row[column])),
    records.map(({ place }) => place),
    records.map(({ index }) => index),
    records.length > 0 ? records.map(({ text }) => text).join("\n") : null,
    now(),
  ];
}

export function changedOf(rows: readonly DatabaseRow[]): ReadonlyMap<number, ChangeResult> {
  return new Map(
    rows.map(({ place, number, head }) => [Number(place), { number: String(number), head: Number(head) }]),
  );
}

/** Whether others are told of a change: it appends, or its driver gives the execution back. */
export function needsNotice({ records, lease }: Change): boolean {
  return records.length > 0 || (lease !== undefined && isGivenBack(lease));
}

/**
 * Tells all processes that listen of the heads of these executions, by the connection of the append, right after it: with `!`
 * if the execution has ended, and with `-` if its driver has given it back.
 */
export function changeNotice(schema: string, channel: string, token: string, changes: readonly Change[]): Statement {
  return {
    name: `portcullis notice ${schema}`,
    text: `SELECT pg_notify($1, $2 || ' ' || head || CASE WHEN ended THEN '!' WHEN leased_until < ${FIRST_MOMENT} THEN '-' ELSE '' END || ' ' || id) FROM ${quotedName(schema)}.executions WHERE id = ANY($3)`,
    values: [channel, token, changes.map(({ execution }) => storedName(execution))],
  };
}
