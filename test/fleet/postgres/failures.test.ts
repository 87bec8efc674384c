import { spawnSync } from "node:child_process";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { PostgresJournal, PostgresJournalOptions } from "../../../src/fleet/index.ts";
import { type Appended } from "../../../src/journal/index.ts";
import { noPostgres } from "../../postgres-support/postgres-server.ts";
import { journalsOf, usePostgres } from "../../postgres-support/use-postgres.ts";
import { listed } from "../../journal/journal-suite.ts";
import { header, outcome, turn } from "../../journal/records.ts";
import { heldTransaction } from "../../postgres-support/held-transaction.ts";
import { failing } from "../../support/failing.ts";
import { ALL_TESTS, testOfAll } from "../../support/all-tests.ts";

describe.skipIf(noPostgres)("a database that fails", () => {
  const server = usePostgres();
  const openJournal = journalsOf(server);

  describe("is told by a typed error that says what to do and has no password", () => {
    const secret = "s3cret-word";
    const nowhere = { url: `postgres://ana:${secret}@127.0.0.1:1/work`, unavailableMs: 200 };
    test.each<[string, () => Partial<PostgresJournalOptions>, string]>([
      ["a wrong password", () => ({ url: server.url({ password: secret }) }), "refuses this user"],
      ["no such database", () => ({ url: server.url({ database: "nowhere" }) }), "no such database"],
      ["no server", () => nowhere, "cannot be used, for "],
      ["no certificate", () => ({ url: server.url({ query: "sslmode=verify-full" }) }), "SSL"],
    ])("%s", async (_, options, message) => {
      const error: unknown = await openJournal(options())
        .find("one")
        .catch((one: unknown) => one);
      expect(error).toMatchObject(failing("journal_unavailable", message));
      expect(inspect(error, { depth: 20, showHidden: true })).not.toMatch(/s3cret-word|correct-horse/);
    });

    const hosts = ["postgres://db1:5432,db2:5432/work", "postgres://db:99999/work", "postgres://[/work"];
    const others = ["postgres://db/work?sslmode=on", "mysql://db/work", "/run/postgres"];
    test.each(["", ...hosts, ...others, 5, { password: secret }])("the option url with %j", (url) => {
      expect(() => openJournal({ url: url as string })).toThrow(
        expect.objectContaining({ code: "option_invalid", message: expect.not.stringContaining(secret) as string }),
      );
    });

    test("a user without rights on the schema, or without the right to make one", async () => {
      const schema = "not_ours";
      await openJournal({ schema }).create(header("one"));
      await server.sql("CREATE ROLE guest LOGIN PASSWORD 'guest-word'");
      const url = server.url({ user: "guest", password: "guest-word" });
      for (const options of [{ url, schema }, { url }])
        await expect(openJournal(options).find("one")).rejects.toMatchObject(
          failing("journal_read_only", "may not be used by this user"),
        );
    });

    test.each([0, 2, 6])(
      "tables of another build, of version %i, with what to do; they stay as they are",
      async (version) => {
        const schema = `other_${version}`;
        await openJournal({ schema }).create(header("one"));
        await server.sql(`UPDATE ${schema}.journal_format SET version = ${version}`);
        await expect(openJournal({ schema }).create(header("two"))).rejects.toMatchObject(
          failing("journal_version", new RegExp(`version ${version} .*version 1\\..* export`)),
        );
        expect(await server.sql(`SELECT id FROM ${schema}.executions`)).toEqual([{ id: "one" }]);
      },
    );

    test("a schema with tables of something else, which get no others beside them", async () => {
      await server.sql("CREATE SCHEMA foreign_tables; CREATE TABLE foreign_tables.executions (a int)");
      await expect(openJournal({ schema: "foreign_tables" }).find("one")).rejects.toMatchObject({
        code: "journal_corrupt",
      });
      expect(
        await server.sql("SELECT count(*)::int AS count FROM pg_tables WHERE schemaname = 'foreign_tables'"),
      ).toEqual([{ count: 1 }]);
    });

    test("a database whose encoding cannot hold every text", async () => {
      await server.sql("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
      await expect(openJournal({ url: server.url({ database: "latin" }) }).find("one")).rejects.toMatchObject(
        failing("journal_read_only", "encoding LATIN1"),
      );
    });
  });

  test("a lock on an execution is waited for up to unavailableMs, statement by statement, and nothing is half done", async () => {
    const schema = "locked";
    const other = openJournal({ schema });
    await other.create(header("one"));
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    const { promise: locked, resolve: hasLock } = Promise.withResolvers<void>();
    const holding = heldTransaction(server.url(), async (sql) => {
      await sql("SELECT 1 FROM locked.executions WHERE id = 'one' FOR UPDATE");
      hasLock();
      await held;
    });
    await locked;
    const impatient = openJournal({ schema, statementMs: 200, unavailableMs: 1000 });
    await expect(impatient.append("one", 1, [turn("late")])).rejects.toMatchObject({ code: "journal_unavailable" });
    const patient = openJournal({ schema, statementMs: 200, unavailableMs: 60_000 });
    const appended = patient.append("one", 1, [turn("patient")]);
    // Reading goes on meanwhile.
    expect(await listed(other)).toMatchObject([{ records: 1 }]);
    letGo();
    await holding;
    expect(await appended).toBe(2);
    expect(await Array.fromAsync(other.read("one"))).toEqual([header("one"), turn("patient")]);
  });

  test("a locked execution holds up neither appends nor leases of others that came with it", async () => {
    const schema = "stalled";
    const journal = openJournal({ schema, connections: 2 });
    const ids = ["a", "b", "c", "locked"];
    const lease = { driver: "d", until: Date.now() + 60_000 };
    for (const id of ids) await journal.create(header(id), lease);
    const [held, locked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = heldTransaction(server.url(), async (sql) => {
      await sql("SELECT 1 FROM stalled.executions WHERE id = 'locked' FOR UPDATE");
      locked.resolve();
      await held.promise;
    });
    await locked.promise;
    const done: string[] = [];
    const append = async (id: string, head: number) => {
      expect(await journal.append(id, head, [turn(id)])).toBe(head + 1);
      done.push(id);
    };
    const first = ids.map((id) => append(id, 1));
    await Promise.all(first.slice(0, 3));
    // What comes later waits no more for it either, alone or together.
    await append("a", 2);
    await journal.renew("b", lease);
    await Promise.all([append("a", 3), append("c", 2), journal.create(header("new"))]);
    expect(done).not.toContain("locked");
    held.resolve();
    await Promise.all([...first, holding]);
    expect(done.at(-1)).toBe("locked");
  });

  test("a statement that failed and whose error was caught lets no transaction pass as committed", async () => {
    const journal = openJournal({ schema: "caught" });
    await journal.create(header("one"));
    const swallow = async (sql: (text: string) => Promise<unknown>) => {
      await sql("SELECT 1 / 0").catch(() => {});
    };
    const refused = failing("journal_invalid", "undone all");
    await expect(journal.append("one", 1, [turn("a")], { within: swallow })).rejects.toMatchObject(refused);
    await expect(journal.create(header("two"), undefined, { within: swallow })).rejects.toMatchObject(refused);
    expect(await listed(journal)).toMatchObject([{ execution: "one", records: 1 }]);
    expect(await journal.append("one", 1, [turn("a")])).toBe(2);
  });

  test("a full disk rejects with journal_full, writes nothing, and takes what fits", async ({ skip }) => {
    const folder = `${server.folder}/small`;
    const mount = `mkdir ${folder} && mount -t tmpfs -o size=3m tmpfs ${folder} && chown postgres ${folder}`;
    if (spawnSync("sh", ["-c", mount]).status !== 0) {
      process.stderr.write("A full disk is not tested: this user may not mount one.\n");
      skip("this user may not mount a disk");
    }
    try {
      await server.sql(`CREATE TABLESPACE small LOCATION '${folder}'`);
      await server.sql("CREATE DATABASE small TABLESPACE pg_default");
      await server.sql("ALTER DATABASE small SET default_tablespace = small");
      const journal = openJournal({ url: server.url({ database: "small" }) });
      await journal.create(header("one"));
      // Text without repetition, which does not get smaller.
      const large = Array.from({ length: 100 }, () =>
        Buffer.from(crypto.getRandomValues(new Uint8Array(30_000))).toString("base64"),
      );
      await expect(journal.append("one", 1, [turn("first"), ...large.map((text) => turn(text))])).rejects.toMatchObject(
        {
          code: "journal_full",
        },
      );
      expect(await Array.fromAsync(journal.read("one"))).toEqual([header("one")]);
      expect(await journal.append("one", 1, [turn("first")])).toBe(2);
    } finally {
      await server.sql("DROP DATABASE IF EXISTS small WITH (FORCE)");
      await server.sql("DROP TABLESPACE IF EXISTS small");
      spawnSync("umount", ["--lazy", folder]);
    }
  });

  test("a connection that is cut in the midst of an append is made again: each record is there once, and the append resolves", async () => {
    const journal = openJournal({ schema: "cut" });
    const large = openJournal({ schema: "cut" });
    await journal.create(header("one"));
    await journal.create(header("two"));
    const cut = () =>
      server.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'postgres'",
      );
    const turns = Array.from({ length: ALL_TESTS ? 60 : 9 }, (_, n) => turn(`event ${n}`));
    const ofSize = (n: number) => turn(`event ${n}`, `${n}`.repeat(70_000));
    // Each append but the first of three meets a cut, somewhere between its first and its last message.
    const write = async (store: PostgresJournal, id: string, each: (n: number) => ReturnType<typeof turn>) => {
      for (const n of turns.keys()) {
        const appended = store.append(id, n + 1, [each(n)]);
        if (n % 3 > 0) await cut().catch(() => {});
        expect(await appended).toBe(n + 2);
      }
    };
    await Promise.all([write(journal, "one", (n) => turns[n] ?? turn("")), write(large, "two", ofSize)]);
    expect(await Array.fromAsync(journal.read("one"))).toEqual([header("one"), ...turns]);
    expect((await Array.fromAsync(journal.read("two"))).slice(1)).toEqual(turns.map((_, n) => ofSize(n)));
    expect(await Array.fromAsync(journal.check())).toEqual([]);
  }, 120_000);

  testOfAll(
    "a server that is killed in the midst of appends and starts again has all that was acknowledged, once",
    async () => {
      const journal = openJournal({ schema: "killed" });
      const ids = Array.from({ length: 20 }, (_, n) => `e${n}`);
      await Promise.all(ids.map((id) => journal.create(header(id))));
      const told: Appended[] = [];
      using listening = journal.onAppend?.((appended) => told.push(appended));
      expect(listening).toBeDefined();
      await expect.poll(() => told).toEqual([{}]);
      let acknowledged = 0;
      const writing = Promise.all(
        ids.map(async (id) => {
          for (let n = 0; n < 30; n += 1) {
            expect(await journal.append(id, n + 1, [turn(`${id}: ${n}`)])).toBe(n + 2);
            acknowledged += 1;
          }
          await journal.append(id, 31, [outcome]);
        }),
      );
      for (const after of [50, 250]) {
        await expect.poll(() => acknowledged >= after, { timeout: 60_000, interval: 1 }).toBe(true);
        await server.kill();
        await server.start();
      }
      await writing;
      for (const id of ids) {
        const events = (await Array.fromAsync(journal.read(id))).flatMap((record) =>
          record.type === "turn" ? [record.event] : [],
        );
        expect(events).toEqual(Array.from({ length: 30 }, (_, n) => `${id}: ${n}`));
      }
      // The listening connection was lost, so what others have appended meanwhile is looked for.
      await expect
        .poll(() => told.filter(({ execution }) => execution === undefined).length, { timeout: 30_000 })
        .toBeGreaterThan(1);
      const other = openJournal({ schema: "killed" });
      // It may have to listen again after the second end of the server, too.
      let others = 0;
      const isTold = async () => {
        await other.create(header(`of another ${(others += 1)}`));
        return told.some(({ execution }) => execution?.startsWith("of another"));
      };
      await expect.poll(isTold, { timeout: 30_000, interval: 200 }).toBe(true);
    },
    180_000,
  );

  testOfAll(
    "a server that ends while nothing is asked of it is waited for at the next append, and gives up after unavailableMs",
    async () => {
      const schema = "restarted";
      const journal = openJournal({ schema });
      const hasty = openJournal({ schema, unavailableMs: 2000 });
      await journal.create(header("one"));
      await hasty.find("one");
      await server.stop();
      await expect(hasty.append("one", 1, [turn("lost")])).rejects.toMatchObject({ code: "journal_unavailable" });
      await expect(Array.fromAsync(hasty.read("one"))).rejects.toMatchObject({ code: "journal_unavailable" });
      const appended = journal.append("one", 1, [turn("kept")]);
      await server.start();
      expect(await appended).toBe(2);
      expect(await Array.fromAsync(hasty.read("one"))).toEqual([header("one"), turn("kept")]);
    },
    120_000,
  );
});
