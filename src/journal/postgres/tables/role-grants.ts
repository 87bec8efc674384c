import type { PoolClient } from "pg";

/** What a role may do that the journal was granted to. Policies hold it to the rows of its tenants. */
const grantsText = (schema: string, role: string): string => `
  GRANT USAGE ON SCHEMA ${schema} TO ${role};
  GRANT SELECT ON ${schema}.journal_format TO ${role};
  GRANT SELECT, INSERT ON ${schema}.records, ${schema}.texts, ${schema}.uses TO ${role};
  -- Not the numbers, which the database gives: a role that chose one would take that of another row.
  REVOKE INSERT ON ${schema}.executions FROM ${role};
  GRANT SELECT, INSERT (id, kind, tenant, parent, started_at, head, ended, driver, leased_until) ON ${schema}.executions TO ${role};
  GRANT UPDATE (head, ended, driver, leased_until, rests_until, needs) ON ${schema}.executions TO ${role};
  GRANT SELECT, INSERT (execution, request), DELETE ON ${schema}.requests TO ${role};
  GRANT SELECT, INSERT, UPDATE, DELETE ON ${schema}.shapes TO ${role};
`;

/** `role` is quoted as PostgreSQL quotes it. */
export async function grantRole(client: PoolClient, schema: string, role: string): Promise<void> {
  await client.query(grantsText(schema, role));
}

/**
 * Gives the roles of tenants what they have in this version of the tables, and takes what they had more. In a migration: it
 * leaves none with rights that an earlier version gave. Roles that were dropped since are passed over.
 */
export async function grantAgain(client: PoolClient, schema: string): Promise<void> {
  const { rows } = await client.query<{ readonly name: string }>(
    `SELECT DISTINCT quote_ident(role) AS name FROM ${schema}.tenant_roles JOIN pg_roles ON rolname = role ORDER BY 1`,
  );
  for (const { name } of rows) await grantRole(client, schema, name);
}
