import type { ClientBase, PoolClient } from "pg";
import { PortcullisError } from "../../../base/index.ts";
import { otherTables } from "../../../journal/packing/index.ts";
import { inTransaction } from "../connection/transaction.ts";

/** Begins the number of the lock under which the tables are made; a hash of the schema's name follows. */
const LOCK = 0x5063756c;

/** Version of the tables. Records have a version of their own, `JOURNAL_FORMAT`. */
export const TABLES_VERSION = 1;

const tablesText = (schema: string): string => `
  CREATE TABLE ${schema}.journal_format (version integer NOT NULL);
  INSERT INTO ${schema}.journal_format VALUES (${TABLES_VERSION});
  CREATE TABLE ${schema}.executions (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started_at bigint NOT NULL,
    leased_until bigint,
    rests_until bigint,
    head integer NOT NULL,
    ended boolean NOT NULL,
    kind text NOT NULL,
    id text COLLATE "C" NOT NULL UNIQUE,
    tenant text COLLATE "C" NOT NULL,
    parent text COLLATE "C",
    driver text,
    -- What the workers that looked at it did not have: a line that says what, and lines with names.
    needs text COLLATE "C" CHECK (octet_length(needs) <= 8192)
  ) WITH (fillfactor = 80);
  CREATE INDEX executions_by_start ON ${schema}.executions (started_at, number);
  CREATE INDEX executions_open ON ${schema}.executions (started_at, number) WHERE NOT ended;
  CREATE INDEX executions_of_tenant ON ${schema}.executions (tenant, started_at, number);
  -- What is due is found without what rests, and a page of what was submitted without the rest of it.
  CREATE INDEX executions_due ON ${schema}.executions (leased_until) WHERE NOT ended AND rests_until IS NULL;
  CREATE INDEX executions_resting ON ${schema}.executions (rests_until) WHERE NOT ended AND rests_until IS NOT NULL;
  CREATE INDEX executions_submitted ON ${schema}.executions (number)
    WHERE NOT ended AND rests_until IS NULL AND leased_until IS NULL;
  CREATE INDEX executions_lacking ON ${schema}.executions (split_part(needs, E'\\n', 1)) WHERE needs IS NOT NULL;
  CREATE TABLE ${schema}.records (
    execution bigint NOT NULL,
    position integer NOT NULL,
    record text COLLATE "C" NOT NULL,
    PRIMARY KEY (execution, position)
  );
  CREATE TABLE ${schema}.texts (
    bytes bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    sha256 bytea NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (tenant, sha256)
  );
  ALTER TABLE ${schema}.texts ALTER data SET STORAGE EXTERNAL;
  CREATE TABLE ${schema}.uses (
    execution bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    sha256 bytea NOT NULL,
    PRIMARY KEY (execution, sha256)
  );
  CREATE INDEX uses_of_text ON ${schema}.uses (tenant, sha256);
  CREATE TABLE ${schema}.requests (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    execution bigint NOT NULL,
    request text NOT NULL CHECK (octet_length(request) <= 64)
  );
  CREATE INDEX requests_by_time ON ${schema}.requests (at);
`;

/** Makes the tables if there are none. Any number of processes may do so at once. Throws `journal_version` for those of another build. */
export async function makeTables(client: PoolClient, schema: string, where: string): Promise<void> {
  if (await hasTables(client, schema, where)) return;
  await inTransaction(client, async () => {
    await client.query("SELECT pg_advisory_xact_lock($1, hashtext($2))", [LOCK, schema]);
    // Another process may have made them while this one waited for the lock.
    if (await hasTables(client, schema, where)) return;
    await refuseEncoding(client, where);
    const { rows } = await client.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
    // `IF NOT EXISTS` would take the right to make schemas even if there is one.
    const name = quotedName(schema);
    if (rows.length === 0) await client.query(`CREATE SCHEMA ${name}`);
    await client.query(tablesText(name));
  });
}

/** Whether a schema has the tables of this build. Throws `journal_version` for those of another one. */
export async function hasTables(client: ClientBase, schema: string, where: string): Promise<boolean> {
  // Read from the catalogue: what names are resolved to may be remembered from before the lock.
  const { rows } = await client.query(
    "SELECT 1 FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace WHERE nspname = $1 AND relname = 'journal_format'",
    [schema],
  );
  if (rows.length === 0) return false;
  const found = await client.query<{ readonly version: number }>(
    `SELECT version FROM ${quotedName(schema)}.journal_format`,
  );
  const version = found.rows[0]?.version;
  if (version === TABLES_VERSION) return true;
  throw otherTables(where, version, TABLES_VERSION);
}

async function refuseEncoding(client: PoolClient, where: string): Promise<void> {
  const { rows } = await client.query<{ readonly server_encoding: string }>("SHOW server_encoding");
  const encoding = rows[0]?.server_encoding;
  if (encoding === "UTF8") return;
  throw new PortcullisError(
    "journal_read_only",
    `The database ${where} has the encoding ${String(encoding)}, which cannot hold every text. Create one with: createdb --encoding UTF8 --template template0`,
  );
}

/** A name that the options have checked: it may still be a word of SQL. */
export function quotedName(name: string): string {
  return `"${name}"`;
}
