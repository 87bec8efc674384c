import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { transactionsIn } from "../../../src/journal/sqlite/transactions.ts";
import { throws } from "../../support/failing.ts";

/** What SQLite calls 1 and 2: without the disk and with it. */
const [NORMAL, FULL] = [1, 2];

test.each([
  ["full", undefined, FULL],
  ["full", "NORMAL", NORMAL],
  ["relaxed", "FULL", FULL],
  ["relaxed", undefined, NORMAL],
] as const)(
  "a journal that is %s waits for the disk as it was opened, or as a write wants: %s",
  async (durability, wanted, level) => {
    using database = new DatabaseSync(":memory:");
    const isRelaxed = durability === "relaxed";
    database.exec(`PRAGMA synchronous = ${isRelaxed ? "NORMAL" : "FULL"}; CREATE TABLE seen (level INTEGER);`);
    const levelNow = () => Number(database.prepare("PRAGMA synchronous").get()?.["synchronous"]);
    const transactions = transactionsIn(database, ":memory:", isRelaxed, 0);
    expect(await transactions.write(levelNow, wanted)).toBe(level);
    const usual = isRelaxed ? NORMAL : FULL;
    expect(levelNow()).toBe(usual);
    const failing = transactions.write(throws("refused"), wanted);
    await expect(failing).rejects.toThrow("refused");
    expect(levelNow()).toBe(usual);
  },
);
