import type { PoolClient } from "pg";
import type { PackedRecord, StoredText } from "../../journal/packing/index.ts";
import type { Change, Changed } from "./changes.ts";

/** Records that are inserted by one statement, in UTF-16 code units of their texts. */
const PART_LENGTH = 4 * 1024 * 1024;

/** Inserts the records and the long texts of one change, in the transaction that has moved the head. */
export async function insertParts(
  client: PoolClient,
  schema: string,
  { records }: Change,
  { number, head }: Changed,
): Promise<void> {
  const texts = distinctTexts(records);
  if (texts.length > 0) await insertTexts(client, schema, texts, number);
  const first = head - records.length;
  for (let from = 0; from < records.length;) {
    const part = partOf(records, from);
    await client.query(
      `INSERT INTO ${schema}.records (execution, position, record)
       SELECT $1, $2::int + place - 1, record FROM unnest(string_to_array($3, E'\\n')) WITH ORDINALITY AS r (record, place)`,
      [number, first + from, part.map(({ text }) => text).join("\n")],
    );
    from += part.length;
  }
}

/**
 * The uses first: a statement that deletes unused texts locks the uses against new ones, and looks at them only then.
 * The texts in one order everywhere, so that no two transactions wait for each other.
 */
async function insertTexts(
  client: PoolClient,
  schema: string,
  texts: readonly StoredText[],
  number: string,
): Promise<void> {
  await client.query(
    `INSERT INTO ${schema}.uses (execution, tenant, sha256)
     SELECT number, tenant, decode(sha256, 'hex') FROM ${schema}.executions, unnest($2::text[]) AS s (sha256)
     WHERE number = $1 ON CONFLICT DO NOTHING`,
    [number, texts.map(({ sha256 }) => sha256.toString("hex"))],
  );
  for (const { sha256, bytes, data } of texts)
    await client.query(
      `INSERT INTO ${schema}.texts (tenant, sha256, bytes, data)
       SELECT tenant, $2::bytea, $3::bigint, $4::bytea FROM ${schema}.executions WHERE number = $1 ON CONFLICT DO NOTHING`,
      [number, sha256, bytes, data],
    );
}

function distinctTexts(records: readonly PackedRecord[]): StoredText[] {
  const texts = new Map(
    records.flatMap(({ longTexts }) => longTexts.map((one) => [one.sha256.toString("hex"), one] as const)),
  );
  return [...texts.keys()].toSorted().flatMap((sha256) => texts.get(sha256) ?? []);
}

function partOf(records: readonly PackedRecord[], from: number): readonly PackedRecord[] {
  let length = 0;
  let to = from;
  for (; to < records.length; to += 1) {
    const own = records[to]?.text.length ?? 0;
    if (to > from && length + own > PART_LENGTH) break;
    length += own;
  }
  return records.slice(from, to);
}
