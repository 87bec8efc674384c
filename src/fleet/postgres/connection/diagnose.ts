import type { ClientBase } from "pg";
import { monotonic, now, PortcullisError } from "../../../base/index.ts";
import type { JournalFinding } from "../../../journal/journal.ts";
import type { Database, PoolFigures } from "./database.ts";
import { SAME_MS } from "../tables/lease-times.ts";
import { hasTables, quoted, TABLES_VERSION } from "../tables/tables.ts";
import { storeError, unavailable } from "./store-error.ts";

/** Rows of `pg_stat_activity` that a role may not read count as well. */
const SERVER = `
  SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS is_standby,
    current_setting('fsync') AS fsync, current_setting('max_connections')::int AS most,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int AS used,
    (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now,
    has_database_privilege(current_database(), 'CREATE') AS may_create`;

interface ServerRow {
  readonly version: string;
  readonly is_standby: boolean;
  readonly fsync: string;
  readonly most: number;
  readonly used: number;
  readonly now: number;
  readonly may_create: boolean;
}

/** Looks at a database on a connection of its own, which is tried once: whether a journal can be kept in it. Never rejects. */
export async function diagnoseDatabase(database: Database): Promise<readonly JournalFinding[]> {
  const what = "database";
  const begun = monotonic();
  try {
    const client = await database.connect();
    try {
      const asked = now();
      const { rows } = await client.query<ServerRow>(SERVER);
      const tookMs = now() - asked;
      const [server] = rows;
      if (!server) return [];
      const ms = Math.round(monotonic() - begun);
      const reached = `PostgreSQL ${server.version} at ${database.where} answers, in ${ms} ms with the connection`;
      return [
        serverFinding(server, reached),
        ...(await tableFindings(client, database, server)),
        clockFinding(server.now - asked - tookMs / 2, tookMs / 2),
        connectionsFinding(server, database.pool),
      ];
    } finally {
      await client.end().catch(() => {});
    }
  } catch (error) {
    return [{ what, state: "missing", ...toldOf(error, database.where) }];
  }
}

function toldOf(error: unknown, where: string): Pick<JournalFinding, "detail" | "code"> {
  const told = storeError(error, where);
  const { message, code } = PortcullisError.is(told) ? told : unavailable(where, 0, error);
  return { detail: message, code };
}

function serverFinding({ is_standby, fsync }: ServerRow, reached: string): JournalFinding {
  const what = "database";
  if (is_standby) {
    const detail = `${reached}. It is a standby, which takes no appends: give the address of the primary, or one that follows it`;
    return { what, state: "missing", detail, code: "journal_read_only" };
  }
  if (fsync !== "on")
    return {
      what,
      state: "weak",
      detail: `${reached}. Its setting fsync is off: what was committed may be lost with the power`,
    };
  return { what, state: "good", detail: reached };
}

/** The version of the tables, and what the role of the URL may do with them. */
async function tableFindings(
  client: ClientBase,
  { schema, where }: Database,
  { may_create }: ServerRow,
): Promise<readonly JournalFinding[]> {
  const named = { what: "journal format" };
  try {
    if (!(await hasTables(client, schema, where))) {
      if (may_create)
        return [{ ...named, state: "good", detail: `the schema ${schema} has no journal; the first use makes one` }];
      const detail = `the schema ${schema} has no journal, and the role of the URL may make none: GRANT CREATE ON DATABASE, once`;
      return [{ ...named, state: "missing", detail, code: "journal_read_only" }];
    }
    return [{ ...named, state: "good", detail: `version ${TABLES_VERSION}` }, await rightsFinding(client, schema)];
  } catch (error) {
    return [{ ...named, state: "missing", ...toldOf(error, where) }];
  }
}

async function rightsFinding(client: ClientBase, schema: string): Promise<JournalFinding> {
  const what = "journal rights";
  const table = (name: string) => `'${quoted(schema)}.${name}'`;
  const { rows } = await client.query<{ readonly may: boolean; readonly deletes: boolean }>(
    `SELECT has_table_privilege(${table("executions")}, 'SELECT') AND has_table_privilege(${table("records")}, 'SELECT, INSERT')
       AND has_column_privilege(${table("executions")}, 'head', 'UPDATE') AS may,
       has_table_privilege(${table("records")}, 'DELETE') AS deletes`,
  );
  if (rows[0]?.may !== true) {
    const detail = `the role of the URL may not read and append in the schema ${schema}: let its owner grant the rights, or give a role that owns it`;
    return { what, state: "missing", detail, code: "journal_read_only" };
  }
  const detail = rows[0].deletes
    ? "the role reads, appends and deletes"
    : "the role reads and appends, and deletes none";
  return { what, state: "good", detail };
}

function clockFinding(aheadMs: number, uncertainMs: number): JournalFinding {
  const what = "database clock";
  if (Math.abs(aheadMs) <= Math.max(SAME_MS, uncertainMs))
    return { what, state: "good", detail: "agrees with this machine's" };
  const detail = `is ${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs > 0 ? "ahead of" : "behind"} this machine's. Leases are kept by the database's clock, so nothing is taken over for it; times of records are this machine's`;
  return { what, state: "weak", detail };
}

function connectionsFinding({ most, used }: ServerRow, { open, waiting, atMost }: PoolFigures): JournalFinding {
  const what = "connections";
  const own =
    open === 0 ? "" : `; this process has ${open} of at most ${atMost}, and ${waiting} statements wait for one`;
  const left = most - used;
  const detail = `the server has ${used} of at most ${most}${own}`;
  if (left > atMost - open && waiting === 0) return { what, state: "good", detail };
  const advice = waiting > 0 ? "raise connections of the journal" : "raise max_connections, or put pgbouncer before it";
  return { what, state: "weak", detail: `${detail}: ${advice}` };
}
