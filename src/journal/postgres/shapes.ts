import { KEPT_SHAPES, type KeptShape } from "../journal.ts";
import { keptShape, MAX_SHAPE_BYTES } from "../packing/kept-shape.ts";
import type { ToolDigest } from "../record.ts";
import type { Database } from "./connection/database.ts";
import { quoted } from "./tables/migrations.ts";
import { nameOf, storedName } from "./tables/names.ts";

const SHAPE = `CASE WHEN octet_length(shape) <= ${MAX_SHAPE_BYTES} THEN shape END AS shape`;

export async function readShapes(database: Database, tenant: string): Promise<readonly KeptShape[]> {
  const { rows } = await database.query(
    {
      name: "portcullis shapes",
      text: `SELECT digest, name, ${SHAPE} FROM ${quoted(database.schema)}.shapes WHERE tenant = $1 ORDER BY kept_at, digest`,
      values: [storedName(tenant)],
    },
    { idempotent: true },
  );
  return rows.flatMap((row) => keptShape({ ...row, name: nameOf(String(row["name"])) }));
}

/** Rows are locked in the same order by all processes, so that none waits for another in a circle. */
export async function keepShapes(
  database: Database,
  tenant: string,
  tools: readonly ToolDigest[],
  add: (digest: string, kept: string | undefined) => string,
): Promise<void> {
  const shapes = `${quoted(database.schema)}.shapes`;
  const own = storedName(tenant);
  const digests = tools.map(({ digest }) => digest);
  await database.transaction(async (client) => {
    await client.query(
      `INSERT INTO ${shapes} (tenant, digest, name, shape, kept_at)
       SELECT $1, digest, name, '', 0 FROM unnest($2::text[], $3::text[]) AS t (digest, name) ORDER BY digest
       ON CONFLICT DO NOTHING`,
      [own, digests, tools.map(({ name }) => storedName(name))],
    );
    const { rows } = await client.query<{ readonly digest: string; readonly shape: string | null }>(
      `SELECT digest, ${SHAPE} FROM ${shapes} WHERE tenant = $1 AND digest = ANY($2) ORDER BY digest FOR UPDATE`,
      [own, digests],
    );
    const sums = rows.map(({ digest, shape }) => add(digest, shape === null || shape === "" ? undefined : shape));
    await client.query(
      `UPDATE ${shapes} AS s SET shape = t.shape, kept_at = $4 FROM unnest($2::text[], $3::text[]) AS t (digest, shape)
       WHERE s.tenant = $1 AND s.digest = t.digest`,
      [own, rows.map(({ digest }) => digest), sums, Date.now()],
    );
    await client.query(
      `DELETE FROM ${shapes} WHERE tenant = $1 AND digest IN (
         SELECT digest FROM ${shapes} WHERE tenant = $1 ORDER BY kept_at DESC, digest DESC OFFSET ${KEPT_SHAPES})`,
      [own],
    );
  });
}
