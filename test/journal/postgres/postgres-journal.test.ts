import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { createPostgresJournal, type PostgresJournal } from "../../../src/journal/postgres/postgres-journal.ts";
import type { PostgresJournalOptions } from "../../../src/journal/postgres/postgres-options.ts";
import { noPostgres, PostgresServer } from "../../postgres-support/postgres-server.ts";
import { fleetJournalSuite, journalSuite, listed } from "../journal-suite.ts";
import { header, outcome, RECORDS, turn } from "../records.ts";

describe.skipIf(noPostgres)("a journal in PostgreSQL", () => {
  let server: PostgresServer;
  const open: AsyncDisposable[] = [];
  let count = 0;

  beforeAll(async () => {
    server = await PostgresServer.start();
  }, 120_000);
  afterEach(async () => {
    for (const journal of open.splice(0)) await journal[Symbol.asyncDispose]();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** A journal in a schema of its own, or another one in the same. */
  function openJournal(options: Partial<PostgresJournalOptions> = {}): PostgresJournal {
    const { schema = `journal_${(count += 1)}`, ...others } = options;
    const journal = createPostgresJournal({ url: server.url(), schema, unavailableMs: 10_000, ...others });
    open.push(journal);
    return journal;
  }

  describe("with group commit", () => journalSuite(() => openJournal()));
  describe("for fleets", () => fleetJournalSuite(() => openJournal()));
  describe("with a transaction for each append", () => journalSuite(() => openJournal({ appendsPerCommit: 1 })));

  // By `src/journal/postgres/database-clock.ts`.
  test("a machine whose clock is wrong has leases as long as the others have", async () => {
    const schema = "clock";
    const right = openJournal({ schema });
    await right.create(header("held"), { driver: "right", until: Date.now() + 60_000 });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 600_000 });
    try {
      const wrong = openJournal({ schema });
      const { lease } = await wrong.find("held");
      expect((lease?.until ?? 0) - Date.now()).toBeGreaterThan(30_000);
      await wrong.create(header("own"), { driver: "wrong", until: Date.now() + 60_000 });
      expect(await listed(wrong, { open: true, due: "left" })).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
    const { lease } = await right.find("own");
    expect((lease?.until ?? 0) - Date.now()).toBeLessThan(90_000);
    expect((lease?.until ?? 0) - Date.now()).toBeGreaterThan(0);
  });

  test("is there again for the next process", async () => {
    const schema = "again";
    const first = openJournal({ schema });
    await first.create(header("one"));
    await first.append("one", 1, [...RECORDS, outcome]);
    await first[Symbol.asyncDispose]();
    const second = openJournal({ schema });
    expect(await Array.fromAsync(second.read("one"))).toEqual([header("one"), ...RECORDS, outcome]);
    expect(await listed(second)).toMatchObject([{ execution: "one", ended: true }]);
    await expect(first.find("one")).rejects.toMatchObject({ code: "runtime_closed" });
  });

  test("keeps names that a column of text cannot hold", async () => {
    const journal = openJournal();
    const names = ["a\0b", "\\0000", "ü😀", '"quoted"'];
    for (const name of names) await journal.create(header(name, { tenant: `t${name}` }), { driver: name, until: 5 });
    for (const name of names)
      expect(await listed(journal, { tenant: `t${name}` })).toMatchObject([
        { execution: name, lease: { driver: name } },
      ]);
    expect(await Array.fromAsync(journal.check())).toEqual([]);
  });

  test("keeps a large text once for a tenant, however many records and executions have it", async () => {
    const journal = openJournal({ schema: "large" });
    const large = JSON.stringify(Array.from({ length: 30_000 }, (_, n) => ({ n, text: `row ${n}` })));
    for (const execution of ["one", "two"]) {
      await journal.create(header(execution));
      await journal.append(
        execution,
        1,
        [1, 2, 3].map((id) => turn(`{"kind":"answer","id":${id}}\n${large}`)),
      );
    }
    expect(await server.sql("SELECT bytes FROM large.texts")).toEqual([{ bytes: String(large.length) }]);
  });
});
