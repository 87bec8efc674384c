import type { ClientBase } from "pg";
import { monotonic, PortcullisError, ignore } from "../../../base/index.ts";
import type { JournalFinding } from "../../../journal/journal.ts";
import type { Database } from "./database.ts";
import { hasTables, quotedName, TABLES_VERSION } from "../tables/tables.ts";
import { storeError, unavailable } from "./store-error.ts";

const SERVER = `
  SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS is_standby,
    current_setting('fsync') AS fsync, has_database_privilege(current_database(), 'CREATE') AS may_create`;

interface ServerRow {
  readonly version: string;
  readonly is_standby: boolean;
  readonly fsync: string;
  readonly may_create: boolean;
}

/** Looks at a database on a connection of its own, which is tried once: whether a journal can be kept in it. Never rejects. */
export async function diagnoseDatabase(database: Database): Promise<readonly JournalFinding[]> {
  const what = "database";
  const begun = monotonic();
  try {
    const client = await database.connect();
    try {
      const [server] = (await client.query<ServerRow>(SERVER)).rows;
      if (!server) return [];
      const ms = Math.round(monotonic() - begun);
      const reached = `PostgreSQL ${server.version} at ${database.where} answers, in ${ms} ms with the connection`;
      return [serverFinding(server, reached), ...(await tableFindings(client, database, server))];
    } finally {
      await client.end().catch(ignore);
    }
  } catch (error) {
    return [{ what, state: "missing", ...toldOf(error, database.where) }];
  }
}

function toldOf(error: unknown, where: string): Pick<JournalFinding, "detail" | "code"> {
  const failure = storeError(error, where);
  const { message, code } = PortcullisError.is(failure) ? failure : unavailable(where, 0, error);
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
  const table = (name: string) => `'${quotedName(schema)}.${name}'`;
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
