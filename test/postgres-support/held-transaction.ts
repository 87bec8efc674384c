import { Client, type QueryResult } from "pg";

/** Runs statements in a transaction of a connection beside the journal's; it is undone if `run` rejects. */
export async function heldTransaction(
  url: string,
  run: (
    sql: (text: string, values?: readonly unknown[]) => Promise<QueryResult<Record<string, unknown>>>,
  ) => Promise<void>,
): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query("BEGIN");
    await run((text, values) => client.query(text, values as unknown[]));
    await client.query("COMMIT");
  } finally {
    await client.end();
  }
}
