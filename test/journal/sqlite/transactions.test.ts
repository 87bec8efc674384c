import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { type Survives, Transactions } from "../../../src/journal/sqlite/transactions.ts";

/** What SQLite calls 1 and 2: without the disk and with it. */
const [NORMAL, FULL] = [1, 2];

test.each<[string, Survives, number]>([
  ["full", "power", FULL],
  ["full", "as_opened", FULL],
  ["full", "process", NORMAL],
  ["relaxed", "power", FULL],
  ["relaxed", "as_opened", NORMAL],
  ["relaxed", "process", NORMAL],
])(
  "in a journal that is %s, what is to survive %s waits for the disk only if it must",
  async (durability, survives, level) => {
    using database = new DatabaseSync(":memory:");
    const isRelaxed = durability === "relaxed";
    database.exec(`PRAGMA synchronous = ${isRelaxed ? "NORMAL" : "FULL"}; CREATE TABLE seen (level INTEGER);`);
    const levelNow = () => Number(database.prepare("PRAGMA synchronous").get()?.["synchronous"]);
    const transactions = new Transactions(database, ":memory:", isRelaxed, 0);
    expect(await transactions.write(survives, levelNow)).toBe(level);
    const usual = isRelaxed ? NORMAL : FULL;
    expect(levelNow()).toBe(usual);
    const failing = transactions.write(survives, () => {
      throw new Error("refused");
    });
    await expect(failing).rejects.toThrow("refused");
    expect(levelNow()).toBe(usual);
  },
);
