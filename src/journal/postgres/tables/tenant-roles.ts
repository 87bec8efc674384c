import { PortcullisError } from "../../../errors.ts";
import type { Database } from "../connection/database.ts";
import { quoted } from "./migrations.ts";
import { storedName } from "./names.ts";
import { grantRole } from "./role-grants.ts";

/**
 * Lets a role of the database use the journal for these tenants, in place of those that it had: it reads and appends to
 * their executions alone, and deletes none. Its owner does this, and is itself bound by nothing.
 */
export async function grantTenants(database: Database, role: string, tenants: readonly string[]): Promise<void> {
  const schema = quoted(database.schema);
  await database.transaction(
    async (client) => {
      const { rows } = await client.query<{ readonly name: string; readonly is_bound: boolean }>(
        `SELECT quote_ident(rolname) AS name, NOT (rolsuper OR rolbypassrls OR pg_has_role(r.oid, relowner, 'MEMBER')) AS is_bound
         FROM pg_roles AS r, pg_class WHERE rolname = $1 AND pg_class.oid = $2::regclass`,
        [role, `${schema}.executions`],
      );
      const [found] = rows;
      if (!found?.is_bound) throw notBound(role, found !== undefined);
      await client.query(`DELETE FROM ${schema}.tenant_roles WHERE role = $1`, [role]);
      await client.query(
        `INSERT INTO ${schema}.tenant_roles (role, tenant) SELECT DISTINCT $1::name, tenant FROM unnest($2::text[]) AS t (tenant)`,
        [role, tenants.map(storedName)],
      );
      await grantRole(client, schema, found.name);
    },
    { idempotent: true },
  );
}

function notBound(role: string, isThere: boolean): PortcullisError {
  const why = isThere
    ? "it is a superuser, bypasses row security or owns the tables, and no policy would bind it"
    : "there is no such role: make it with CREATE ROLE … LOGIN";
  return new PortcullisError("option_invalid", `grantTenants(${JSON.stringify(role)}): ${why}.`);
}
