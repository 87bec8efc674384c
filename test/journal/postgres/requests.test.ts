import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPostgresJournal, type PostgresJournal } from "../../../src/journal/postgres/postgres-journal.ts";
import { noPostgres, PostgresServer } from "../../postgres-support/postgres-server.ts";
import { header } from "../records.ts";

describe.skipIf(noPostgres)("requests to drivers", () => {
  let server: PostgresServer;
  let owner: PostgresJournal;
  let acme: PostgresJournal;
  const heard: string[] = [];

  beforeAll(async () => {
    server = await PostgresServer.start();
    owner = createPostgresJournal({ url: server.url() });
    for (const tenant of ["acme", "other"]) await owner.create(header(`of-${tenant}\0`, { tenant }));
    await server.sql("CREATE ROLE worker LOGIN PASSWORD 'worker-word'");
    await owner.grantTenants("worker", ["acme"]);
    acme = createPostgresJournal({ url: server.url({ user: "worker", password: "worker-word" }), unavailableMs: 5000 });
    const listening = Promise.withResolvers<void>();
    owner.onRequest((execution, request) => heard.push(`${request} ${execution}`));
    owner.onNotify("portcullis_requests", () => listening.resolve());
    await listening.promise;
  }, 120_000);
  afterAll(async () => {
    await acme[Symbol.asyncDispose]();
    await owner[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  /** Requests are heard in their order: what came before this one was heard, or never will be. */
  async function heardUntil(last: string): Promise<string[]> {
    await owner.request("of-other\0", last);
    await expect.poll(() => heard.at(-1)).toBe(`${last} of-other\0`);
    return heard.splice(0).slice(0, -1);
  }

  test("are heard by other processes, by a role for executions of its tenants", async () => {
    await acme.request("of-acme\0", "cancel");
    await acme.request("of-acme\0", "interrupt");
    expect(await heardUntil("a")).toEqual(["cancel of-acme\0", "interrupt of-acme\0"]);
  });

  test("of a role for executions of other tenants are not there: neither by the journal nor by SQL nor by notices", async () => {
    await acme.request("of-other\0", "cancel");
    await acme.request("unknown", "cancel");
    await expect(
      acme.query("INSERT INTO portcullis.requests (execution, request) VALUES (2, 'cancel')"),
    ).rejects.toMatchObject({ code: "journal_read_only" });
    for (const payload of [
      "",
      "1",
      "2",
      "x",
      '["cancel","of-other"]',
      "9".repeat(18),
      "9".repeat(400),
      "1; DROP TABLE x",
    ])
      await acme.query("SELECT pg_notify('portcullis_requests', $1)", [payload]);
    await acme.query(`SELECT pg_notify('portcullis_requests', '["cancel","of-other"]')`);
    expect(await heardUntil("b")).toEqual([]);
  });

  test("are seen and deleted by a role for its tenants alone", async () => {
    await owner.request("of-other\0", "seen");
    expect((await acme.query("SELECT DISTINCT execution::int FROM portcullis.requests")).rows).toEqual([
      { execution: 1 },
    ]);
    expect((await acme.query("DELETE FROM portcullis.requests RETURNING execution::int")).rows).not.toContainEqual({
      execution: 2,
    });
    await expect.poll(() => heard).toContain("seen of-other\0");
    heard.length = 0;
  });

  test("that are old are neither read nor kept", async () => {
    await server.sql(
      `INSERT INTO portcullis.requests (at, execution, request) VALUES (now() - interval '2 minutes', 1, 'old');
       SELECT pg_notify('portcullis_requests', max(number)::text) FROM portcullis.requests`,
    );
    expect(await heardUntil("c")).toEqual([]);
    expect(await server.sql("SELECT * FROM portcullis.requests WHERE request = 'old'")).toEqual([]);
  });

  test("in another schema are others", async () => {
    const apart = createPostgresJournal({ url: server.url(), schema: "apart" });
    await apart.create(header("of-other\0"));
    await apart.request("of-other\0", "cancel");
    expect(await heardUntil("d")).toEqual([]);
    await apart[Symbol.asyncDispose]();
  });
});
