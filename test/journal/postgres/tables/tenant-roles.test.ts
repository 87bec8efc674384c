import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPostgresJournal, type PostgresJournal } from "../../../../src/journal/postgres/postgres-journal.ts";
import { noPostgres, PostgresServer } from "../../../postgres-support/postgres-server.ts";
import { listed } from "../../journal-suite.ts";
import { header, outcome, turn } from "../../records.ts";

describe.skipIf(noPostgres)("a role that the journal was granted to for one tenant", () => {
  let server: PostgresServer;
  let owner: PostgresJournal;
  let worker: PostgresJournal;
  const large = "x".repeat(100_000);

  beforeAll(async () => {
    server = await PostgresServer.start();
    owner = createPostgresJournal({ url: server.url() });
    for (const tenant of ["acme", "other"]) {
      await owner.create(header(`of-${tenant}`, { tenant }));
      await owner.append(`of-${tenant}`, 1, [turn(large), turn(`${tenant}${large}`)]);
    }
    await server.sql("CREATE ROLE worker LOGIN PASSWORD 'worker-word'");
    await owner.grantTenants("worker", ["acme"]);
    worker = createPostgresJournal({
      url: server.url({ user: "worker", password: "worker-word" }),
      unavailableMs: 5000,
    });
  }, 120_000);
  afterAll(async () => {
    await worker[Symbol.asyncDispose]();
    await owner[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  test("creates, reads, appends to and renews executions of the tenant, with large texts", async () => {
    expect((await listed(worker)).map(({ execution }) => execution)).toEqual(["of-acme"]);
    expect((await Array.fromAsync(worker.read("of-acme")))[2]).toEqual(turn(`acme${large}`));
    await worker.create(header("mine", { tenant: "acme" }), { driver: "d", until: 5 });
    await worker.append("mine", 1, [turn(large), turn(`mine${large}`), outcome]);
    expect(await worker.renew("mine", { driver: "d", until: 9 })).toBe(4);
    expect(await Array.fromAsync(owner.read("mine"))).toHaveLength(4);
  });

  test("finds nothing of another tenant through the journal: not to read, to append, to renew, to create", async () => {
    const unknown = { code: "execution_unknown" };
    await expect(Array.fromAsync(worker.read("of-other"))).rejects.toMatchObject(unknown);
    await expect(worker.append("of-other", 3, [outcome])).rejects.toMatchObject(unknown);
    await expect(worker.renew("of-other", { driver: "d", until: 9 })).rejects.toMatchObject(unknown);
    expect(await listed(worker, { tenant: "other" })).toEqual([]);
    await expect(worker.create(header("theirs", { tenant: "other" }))).rejects.toMatchObject({
      code: "journal_read_only",
    });
    await expect(worker.prune({ before: Date.now(), open: true })).rejects.toMatchObject({ code: "journal_read_only" });
    expect((await owner.find("of-other")).records).toBe(3);
  });

  test("keeps and reads shapes of its tenant alone", async () => {
    const tool = [{ name: "a.b", digest: "d" }];
    await owner.keepShapes?.("other", tool, () => "of the other");
    await worker.keepShapes?.("acme", tool, () => "own");
    expect(await worker.shapes?.("acme")).toEqual([{ name: "a.b", digest: "d", shape: "own" }]);
    expect(await worker.shapes?.("other")).toEqual([]);
    await expect(worker.keepShapes?.("other", tool, () => "taken")).rejects.toMatchObject({
      code: "journal_read_only",
    });
    expect(await owner.shapes?.("other")).toEqual([{ name: "a.b", digest: "d", shape: "of the other" }]);
  });

  test("has one refused creation among others that share its commit, and these are made", async () => {
    const created = await Promise.allSettled(
      ["acme", "acme", "other", "acme"].map((tenant, n) => worker.create(header(`together-${n}`, { tenant }))),
    );
    expect(created).toMatchObject([
      { value: 1 },
      { value: 1 },
      { reason: { code: "journal_read_only" } },
      { value: 1 },
    ]);
  });

  test.each([
    ["another tenant's rows", "SELECT count(*)::int AS n FROM portcullis.executions WHERE tenant <> 'acme'"],
    ["another tenant's texts", "SELECT count(*)::int AS n FROM portcullis.texts WHERE tenant <> 'acme'"],
    ["another tenant's uses", "SELECT count(*)::int AS n FROM portcullis.uses WHERE tenant <> 'acme'"],
    [
      "another tenant's records",
      `SELECT count(*)::int AS n FROM portcullis.records WHERE execution NOT IN (SELECT number FROM portcullis.executions)`,
    ],
    [
      "another tenant's records by their number",
      "SELECT count(*)::int AS n FROM portcullis.records WHERE execution = 2",
    ],
  ])("sees none by SQL of its own: %s", async (_, text) => {
    expect((await worker.query(text)).rows).toEqual([{ n: 0 }]);
  });

  test.each([
    ["a tenant more for itself", "INSERT INTO portcullis.tenant_roles VALUES ('worker', 'other')"],
    ["the tenants of roles", "SELECT * FROM portcullis.tenant_roles"],
    ["an execution for another tenant", "UPDATE portcullis.executions SET tenant = 'other' WHERE id = 'mine'"],
    [
      "a number of its choice, which the next execution would have",
      `INSERT INTO portcullis.executions (number, started_at, head, ended, kind, id, tenant)
       OVERRIDING SYSTEM VALUE VALUES (1000, 1, 1, false, 'program', 'chosen', 'acme')`,
    ],
    ["a record of another tenant's execution", "INSERT INTO portcullis.records VALUES (2, 3, '{}')"],
    ["a text of another tenant", "INSERT INTO portcullis.texts VALUES (1, 'other', '\\x00', '\\x00')"],
    ["a use of another tenant's execution", "INSERT INTO portcullis.uses VALUES (2, 'acme', '\\x00')"],
    ["a deletion", "DELETE FROM portcullis.executions"],
    ["another text in place of one", "UPDATE portcullis.texts SET data = '\\x00'"],
    ["another record in place of one", "UPDATE portcullis.records SET record = '{}'"],
    ["another role", "SET ROLE postgres"],
    ["a policy less", "ALTER TABLE portcullis.executions DISABLE ROW LEVEL SECURITY"],
  ])("is refused by SQL of its own: %s", async (_, text) => {
    await expect(worker.query(text)).rejects.toMatchObject({ code: "journal_read_only" });
  });

  test.each([
    ["of no kind", "1, 1, 'none', 'odd'"],
    ["before 1970", "-1, 1, 'program', 'odd'"],
    ["without records", "1, 0, 'program', 'odd'"],
    ["with a name of 3 kB", "1, 1, 'program', repeat(md5(random()::text), 100)"],
  ])("is refused an execution that lists could not read: %s", async (_, values) => {
    const insert = `INSERT INTO portcullis.executions (started_at, head, kind, id, tenant, ended) VALUES (${values}, 'acme', false)`;
    await expect(worker.query(insert)).rejects.toMatchObject({
      code: expect.stringMatching(/^(23514|54000)$/) as string,
    });
    expect((await listed(owner)).length).toBeGreaterThan(1);
  });

  test("is refused a lease, and a driver, that lists could not read", async () => {
    for (const change of ["leased_until = 9223372036854775807", "leased_until = -1", "driver = repeat('x', 3000)"])
      await expect(
        worker.query(`UPDATE portcullis.executions SET ${change} WHERE id = 'of-acme'`),
      ).rejects.toMatchObject({ code: "23514" });
  });

  // By `src/journal/postgres/tables/role-grants.ts`.
  test("loses, with the migration of the tables, rights that an earlier version of them gave", async () => {
    const earlier = createPostgresJournal({ url: server.url(), schema: "earlier" });
    await earlier.create(header("of-acme", { tenant: "acme" }));
    await earlier.grantTenants("worker", ["acme"]);
    await server.sql(`SET search_path = earlier; GRANT INSERT ON executions TO worker;
      CREATE ROLE dropped; INSERT INTO tenant_roles VALUES ('dropped', 'acme'); DROP ROLE dropped;
      ALTER TABLE executions DROP COLUMN needs;
      DROP TABLE requests, shapes; DROP INDEX executions_submitted; ALTER TABLE executions DROP CONSTRAINT is_execution; UPDATE journal_format SET version = 2`);
    const newer = createPostgresJournal({ url: server.url(), schema: "earlier" });
    await newer.find("of-acme");
    const held = createPostgresJournal({
      url: server.url({ user: "worker", password: "worker-word" }),
      schema: "earlier",
      unavailableMs: 5000,
    });
    const chosen = `INSERT INTO earlier.executions (number, started_at, head, ended, kind, id, tenant)
      OVERRIDING SYSTEM VALUE VALUES (2000, 1, 1, false, 'program', 'chosen', 'acme')`;
    await expect(held.query(chosen)).rejects.toMatchObject({ code: "journal_read_only" });
    await held.request("of-acme", "cancel");
    expect(await held.shapes?.("acme")).toEqual([]);
    expect(await held.create(header("mine", { tenant: "acme" }))).toBe(1);
    for (const journal of [earlier, newer, held]) await journal[Symbol.asyncDispose]();
  });

  test("had the right to choose numbers from an earlier grant, and loses it with the next", async () => {
    await server.sql("GRANT INSERT ON portcullis.executions TO worker");
    await owner.grantTenants("worker", ["acme"]);
    const chosen = `INSERT INTO portcullis.executions (number, started_at, head, ended, kind, id, tenant)
      OVERRIDING SYSTEM VALUE VALUES (2000, 1, 1, false, 'program', 'chosen', 'acme')`;
    await expect(worker.query(chosen)).rejects.toMatchObject({ code: "journal_read_only" });
    expect(await worker.create(header("after-grant", { tenant: "acme" }))).toBe(1);
  });

  test("a number that is taken is no execution that exists", async () => {
    const [last] = await server.sql("SELECT max(number)::int AS n FROM portcullis.executions");
    const sequence = "pg_get_serial_sequence('portcullis.executions', 'number')";
    await server.sql(`SELECT setval(${sequence}, ${String(last?.["n"])} - 1)`);
    const error: unknown = await owner.create(header("unlucky")).catch((one: unknown) => one);
    expect(error).not.toMatchObject({ code: "execution_exists" });
    expect(error).toMatchObject({ code: "23505" });
    expect(await owner.create(header("unlucky"))).toBe(1);
  });

  test("has other tenants as soon as it is granted them, and cannot be a role that no policy binds", async () => {
    await owner.grantTenants("worker", ["other"]);
    expect((await listed(worker)).map(({ execution }) => execution)).toEqual(["of-other"]);
    await owner.grantTenants("worker", []);
    expect(await listed(worker)).toEqual([]);
    for (const role of ["postgres", "nobody-there"])
      await expect(owner.grantTenants(role, ["acme"])).rejects.toMatchObject({ code: "option_invalid" });
  });
});
