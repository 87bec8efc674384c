import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { Transactions } from "../../../src/journal/sqlite/transactions.ts";

/** What SQLite calls 1 and 2: without the disk and with it. */
const [NORMAL, FULL] = [1, 2];

test.each([
  ["full", true, FULL],
  ["full", false, FULL],
  ["relaxed", true, FULL],
  ["relaxed", false, NORMAL],
] as const)("a journal that is %s waits for the disk only if it must: safe is %s", async (durability, safe, level) => {
  using database = new DatabaseSync(":memory:");
  const isRelaxed = durability === "relaxed";
  database.exec(`PRAGMA synchronous = ${isRelaxed ? "NORMAL" : "FULL"}; CREATE TABLE seen (level INTEGER);`);
  const levelNow = () => Number(database.prepare("PRAGMA synchronous").get()?.["synchronous"]);
  const transactions = new Transactions(database, ":memory:", isRelaxed, 0);
  expect(await transactions.write(levelNow, safe)).toBe(level);
  const usual = isRelaxed ? NORMAL : FULL;
  expect(levelNow()).toBe(usual);
  const failing = transactions.write(() => {
    throw new Error("refused");
  }, safe);
  await expect(failing).rejects.toThrow("refused");
  expect(levelNow()).toBe(usual);
});
