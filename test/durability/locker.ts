/** Locks the file of a journal again and again, for up to MAX_MS at a time: `node locker.ts JOURNAL MAX_MS`. Sends a message for each lock. */
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

const [, , path = "", maxMs = "0"] = process.argv;
using database = new DatabaseSync(path, { timeout: 10_000 });
for (;;) {
  database.exec("BEGIN IMMEDIATE");
  process.send?.("locked");
  await delay(Math.random() * Number(maxMs));
  database.exec("ROLLBACK");
  await delay(Math.random() * 200);
}
