import { beforeEach, expect, test } from "vitest";
import { DatabaseClock } from "../../../../src/journal/postgres/connection/database-clock.ts";
import type { Database, Statement } from "../../../../src/journal/postgres/connection/database.ts";
import { type ManualClock, manualClock } from "../../../support/clock.ts";

interface Client {
  query(statement: Statement): Promise<{ readonly rows: readonly { readonly now: number }[] }>;
}

let clock: ManualClock;
beforeEach(() => {
  clock = manualClock();
});

/** A database whose clock is ahead, which is waited for, and whose answer takes long to come. */
function databaseOf({ aheadMs = 0, waitMs = 0, answerMs = 0 }): Database {
  const client: Client = {
    query: () => {
      const now = clock.now() + aheadMs;
      clock.pass(answerMs);
      return Promise.resolve({ rows: [{ now }] });
    },
  };
  const run = <Value>(work: (one: Client) => Promise<Value>) => {
    clock.pass(waitMs);
    return work(client);
  };
  return { run, query: (statement: Statement) => run((one) => one.query(statement)) } as unknown as Database;
}

test.each([
  ["a clock that is the same", {}, 0],
  ["one that is ten minutes ahead", { aheadMs: 600_000 }, 600_000],
  ["one that is ten minutes behind, after an outage", { aheadMs: -600_000, waitMs: 40_000 }, -600_000],
  ["the same, after an outage", { waitMs: 40_000 }, 0],
  ["the same, with a slow answer", { answerMs: 6000 }, 0],
  ["one that is ten minutes ahead, with a slow answer", { aheadMs: 600_000, answerMs: 6000 }, 597_000],
])("a database's clock is measured: %s", async (_, database, aheadMs) => {
  expect(await new DatabaseClock(databaseOf(database)).aheadMs()).toBe(aheadMs);
});
