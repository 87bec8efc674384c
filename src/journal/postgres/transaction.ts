import type { PoolClient } from "pg";
import { faultOf } from "./store-error.ts";

/** A transaction on this connection: undone if the work rejects. */
export async function inTransaction<Value>(
  client: PoolClient,
  work: (client: PoolClient) => Promise<Value>,
): Promise<Value> {
  let value: Value;
  try {
    await client.query("BEGIN");
    value = await work(client);
  } catch (error) {
    // If the connection is gone, so is the transaction.
    if (faultOf(error) === "lost") throw new Undone(error);
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
  await client.query("COMMIT");
  return value;
}

/** The database took nothing: there was no connection, or the transaction was not committed. */
export class Undone extends Error {
  constructor(cause: unknown) {
    super("Nothing was done.", { cause });
  }
}
