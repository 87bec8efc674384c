import { describe, expect, test } from "vitest";
import { now } from "../../../src/base/index.ts";
import type { PostgresJournal } from "../../../src/fleet/index.ts";
import { noPostgres } from "../../postgres-support/postgres-server.ts";
import { journalsOf, usePostgres } from "../../postgres-support/use-postgres.ts";
import { settableClock } from "../../support/clock.ts";
import { durableJournalSuite } from "../../journal/durable-journal-suite.ts";
import { journalSuite, listed } from "../../journal/journal-suite.ts";
import { header, outcome, turn } from "../../journal/records.ts";
import { ALL_TESTS, testOfAll } from "../../support/all-tests.ts";

describe.skipIf(noPostgres)("a journal in PostgreSQL", () => {
  const server = usePostgres();
  const openJournal = journalsOf(server);
  let count = 0;

  describe("with group commit", () => journalSuite(() => openJournal()));
  durableJournalSuite(
    () => {
      const schema = `durable_${(count += 1)}`;
      return {
        open: () => openJournal({ schema }),
        close: (journal) => (journal as PostgresJournal)[Symbol.asyncDispose](),
        sql: (text) => server.sql(text.replaceAll(/(?<=(?:FROM|UPDATE) )/g, `${schema}.`)),
        address: [server.url(), schema],
      };
    },
    ALL_TESTS ? 10 : 3,
  );

  // By `src/fleet/postgres/tables/lease-times.ts`.
  test("a machine whose clock is wrong has leases as long as the others have", async () => {
    const schema = "clock";
    const right = openJournal({ schema });
    await right.create(header("held"), { driver: "right", until: Date.now() + 60_000 });
    const clock = settableClock();
    clock.jump(600_000);
    const wrong = openJournal({ schema });
    const { lease: held } = await wrong.find("held");
    expect((held?.until ?? 0) - now()).toBeGreaterThan(30_000);
    await wrong.create(header("own"), { driver: "wrong", until: now() + 60_000 });
    expect((await wrong.find("own")).lease?.until).toBeGreaterThan(now());
    clock.jump(-600_000);
    const { lease } = await right.find("own");
    expect((lease?.until ?? 0) - Date.now()).toBeLessThan(90_000);
    expect((lease?.until ?? 0) - Date.now()).toBeGreaterThan(0);
  });

  test("a machine whose clock is wrong prunes no execution that a driver holds, and each that none holds", async () => {
    const right = openJournal({ schema: "clock_prune" });
    await right.create(header("held", { startedAt: 1 }), { driver: "right", until: Date.now() + 60_000 });
    await right.create(header("left", { startedAt: 1 }), { driver: "gone", until: Date.now() - 60_000 });
    const clock = settableClock();
    clock.jump(600_000);
    expect(await right.prune({ before: 5, open: true })).toBe(1);
    expect((await right.find("held")).execution).toBe("held");
    await right.create(header("gone", { startedAt: 1 }), { driver: "gone", until: 5 });
    clock.jump(-1_200_000);
    expect(await right.prune({ before: 5, open: true })).toBe(1);
    expect((await listed(right)).map(({ execution }) => execution)).toEqual(["held"]);
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
    // More than an index can hold.
    await expect(journal.create(header("é".repeat(1001)))).rejects.toMatchObject({ code: "journal_invalid" });
  });

  testOfAll(
    "a large execution is read with a page of it in memory, which the reading says before it holds it",
    async () => {
      const journal = openJournal();
      await journal.create(header("one"));
      // 1,200 records of 30 kB, some of 400 kB, and texts that are kept by their hash.
      const records = Array.from({ length: 1200 }, (_, n) =>
        turn(
          `${n}`,
          ...(n % 100 === 50
            ? [`"`.repeat(60_000), `"`.repeat(60_000), `${n}`.repeat(70_000)]
            : [`${n}`.padEnd(30_000)]),
        ),
      );
      for (let from = 0; from < records.length; from += 200)
        await journal.append("one", from + 1, records.slice(from, from + 200));
      const holds: number[] = [];
      const hold = (bytes: number) => {
        holds.push(bytes);
        return Promise.resolve();
      };
      let position = 0;
      for await (const record of journal.read("one", { hold })) {
        if (position > 0) expect(record).toEqual(records[position - 1]);
        position += 1;
      }
      expect(position).toBe(1201);
      // A page twice, as text and parsed; more only for a record that is larger, and for its texts.
      expect(Math.max(...holds)).toBeLessThan(2.5 * 1024 * 1024);
      expect(holds.filter((bytes) => bytes > 512 * 1024).length).toBeLessThan(12 * 40);
      // A reading of a few records reads no others.
      const before = holds.length;
      const few = await Array.fromAsync(journal.read("one", { hold, from: 10, count: 2 }));
      expect(few).toEqual(records.slice(9, 11));
      expect(holds.length - before).toBeLessThan(8);
    },
  );

  describe("check", () => {
    const large = JSON.stringify(Array.from({ length: 30_000 }, (_, n) => n));
    test.each([
      ["a head below 1", "UPDATE executions SET head = -5", /values that no execution has/],
      ["a start before 1970", "UPDATE executions SET started_at = -1", /values that no execution has/],
      [
        "a lease that JavaScript cannot hold",
        "UPDATE executions SET leased_until = 9223372036854775807",
        /values that no/,
      ],
      ["a tenant of 100 kB", "UPDATE executions SET tenant = repeat('x', 100000)", /values that no execution has/],
      ["a driver of 20 MB", "UPDATE executions SET driver = repeat('x', 20000000)", /values that no execution has/],
    ])("finds %s", async (_, sql, problem) => {
      const schema = `checked_${(count += 1)}`;
      const journal = openJournal({ schema });
      await journal.create(header("one"));
      await journal.append("one", 1, [turn("a"), turn(`{"kind":"answer"}\n${large}`), outcome]);
      expect(await Array.fromAsync(journal.check())).toEqual([]);
      await server.sql(`SET search_path = ${schema}; ${sql}`);
      expect(await Array.fromAsync(journal.check())).toEqual([
        expect.objectContaining({ problem: expect.stringMatching(problem) as string }),
      ]);
    });
  });

  test("an entry that cannot be read hides no other one, and `check` looks at those after it", async () => {
    const schema = "one_bad";
    const journal = openJournal({ schema });
    for (const id of ["first", "bad", "last"]) await journal.create(header(id));
    await server.sql(`SET search_path = ${schema};
      UPDATE executions SET kind = 'none' WHERE id = 'bad'; DELETE FROM records WHERE execution = 1`);
    const told: string[] = [];
    const listing = journal.list({ onDamaged: ({ code }) => told.push(code) });
    expect((await Array.fromAsync(listing)).map(({ execution }) => execution)).toEqual(["last", "first"]);
    expect(told).toEqual(["journal_corrupt"]);
    expect((await listed(journal)).map(({ execution }) => execution)).toEqual(["last", "first"]);
    expect(await Array.fromAsync(journal.check())).toMatchObject([
      { problem: expect.stringMatching(/values that no execution has/) as string },
      { execution: "first", problem: expect.stringMatching(/record 0 .* is missing/) as string },
    ]);
  });

  test("a number that is taken is no execution that exists", async () => {
    const schema = "numbers";
    const journal = openJournal({ schema });
    await journal.create(header("first"));
    await server.sql(`SELECT setval(pg_get_serial_sequence('${schema}.executions', 'number'), 1, false)`);
    const error: unknown = await journal.create(header("unlucky")).catch((one: unknown) => one);
    expect(error).not.toMatchObject({ code: "execution_exists" });
    expect(error).toMatchObject({ code: "23505" });
    expect(await journal.create(header("unlucky"))).toBe(1);
  });
});
