import type { ClientBase, PoolClient } from "pg";
import { PortcullisError } from "../../../errors.ts";
import { inTransaction } from "../connection/transaction.ts";

/** Begins the number of the lock under which the tables are made or changed; a hash of the schema's name follows. */
const LOCK = 0x5063756c;

/** What leads from each version of the tables to the next, from none to the first on. Records have a version of their own. */
const STEPS: readonly ((schema: string) => string)[] = [
  (schema) => `
    CREATE TABLE ${schema}.executions (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      started_at bigint NOT NULL,
      leased_until bigint,
      head integer NOT NULL,
      ended boolean NOT NULL,
      kind text NOT NULL,
      id text COLLATE "C" NOT NULL UNIQUE,
      tenant text COLLATE "C" NOT NULL,
      parent text COLLATE "C",
      driver text
    ) WITH (fillfactor = 80);
    CREATE INDEX executions_open ON ${schema}.executions (number) WHERE NOT ended;
    CREATE INDEX executions_of_tenant ON ${schema}.executions (tenant, number);
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
  `,
  // What is due is found without what rests, however much that is.
  (schema) => `
    ALTER TABLE ${schema}.executions ADD COLUMN rests_until bigint;
    CREATE INDEX executions_due ON ${schema}.executions (leased_until) WHERE NOT ended AND rests_until IS NULL;
    CREATE INDEX executions_resting ON ${schema}.executions (rests_until) WHERE NOT ended AND rests_until IS NOT NULL;
  `,
  (schema) => `
    CREATE TABLE ${schema}.requests (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      at timestamptz NOT NULL DEFAULT now(),
      execution bigint NOT NULL,
      request text NOT NULL CHECK (octet_length(request) <= 64)
    );
    CREATE INDEX requests_by_time ON ${schema}.requests (at);
  `,
  // What the workers that looked at an execution did not have: a line that says what, and lines with names.
  (schema) => `
    ALTER TABLE ${schema}.executions ADD COLUMN needs text COLLATE "C" CHECK (octet_length(needs) <= 8192);
    CREATE INDEX executions_lacking ON ${schema}.executions (split_part(needs, E'\\n', 1)) WHERE needs IS NOT NULL;
  `,
  // A page of what was submitted is found without the rest of it.
  (schema) => `
    CREATE INDEX executions_submitted ON ${schema}.executions (number)
      WHERE NOT ended AND rests_until IS NULL AND leased_until IS NULL;
  `,
];

/** The version of the tables that this package makes. */
export const NEWEST_FORMAT = STEPS.length;

/** Makes the tables, or brings them to the version of this package. Any number of processes may do so at once. */
export async function migrate(client: PoolClient, schema: string, where: string): Promise<void> {
  if ((await formatOf(client, schema, where)) === STEPS.length) return;
  await inTransaction(client, async () => {
    await client.query("SELECT pg_advisory_xact_lock($1, hashtext($2))", [LOCK, schema]);
    // Another process may have made them while this one waited for the lock.
    const found = await formatOf(client, schema, where);
    if (found === STEPS.length) return;
    await refuseEncoding(client, where);
    const { rows } = await client.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
    // `IF NOT EXISTS` would take the right to make schemas even if there is one.
    const name = quoted(schema);
    if (rows.length === 0) await client.query(`CREATE SCHEMA ${name}`);
    if (found === 0)
      await client.query(`CREATE TABLE ${name}.journal_format (version integer NOT NULL);
        INSERT INTO ${name}.journal_format VALUES (0)`);
    for (const step of STEPS.slice(found)) await client.query(step(name));
    await client.query(`UPDATE ${name}.journal_format SET version = ${STEPS.length}`);
  });
}

/** Version of the tables; 0 if there are none. Throws `journal_version` for a version that this package does not know. */
export async function formatOf(client: ClientBase, schema: string, where: string): Promise<number> {
  // Read from the catalogue: what names are resolved to may be remembered from before the lock.
  const { rows } = await client.query(
    "SELECT 1 FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace WHERE nspname = $1 AND relname = 'journal_format'",
    [schema],
  );
  if (rows.length === 0) return 0;
  const found = await client.query<{ readonly version: number }>(
    `SELECT version FROM ${quoted(schema)}.journal_format`,
  );
  const version = found.rows[0]?.version ?? 0;
  if (version <= STEPS.length) return version;
  throw new PortcullisError(
    "journal_version",
    `The journal ${where} has version ${version} of its tables, and this version of portcullis reads version ${STEPS.length}. Open it with the version that wrote it, or export it there with: portcullis journal export`,
  );
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
export function quoted(name: string): string {
  return `"${name}"`;
}
