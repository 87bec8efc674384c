import type { PoolClient } from "pg";
import { PortcullisError, ignore } from "../../../base/index.ts";
import { faultOf } from "./store-error.ts";

/** A transaction on this connection: undone if the work rejects. Rejects with `journal_invalid` if it was undone anyway. */
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
    await client.query("ROLLBACK").catch(ignore);
    throw error;
  }
  // A transaction with a failed statement is rolled back by COMMIT, which tells so by its command tag alone.
  const { command } = await client.query("COMMIT");
  if (command === "COMMIT") return value;
  throw new PortcullisError(
    "journal_invalid",
    "A statement of this transaction failed and its error was caught, so the database has undone all of the transaction. Nothing was written. Let the function that ran the statement (within, or that of transaction) reject with the error.",
  );
}

/** The database took nothing: there was no connection, or the transaction was not committed. */
export class Undone extends Error {
  constructor(cause: unknown) {
    super("Nothing was done.", { cause });
  }
}
