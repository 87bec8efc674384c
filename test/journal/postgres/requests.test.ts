import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPostgresJournal, type PostgresJournal } from "../../../src/journal/index.ts";
import { noPostgres, PostgresServer } from "../../postgres-support/postgres-server.ts";
import { header } from "../records.ts";

describe.skipIf(noPostgres)("requests to drivers", () => {
  let server: PostgresServer;
  let journal: PostgresJournal;
  let other: PostgresJournal;
  const heard: string[] = [];

  beforeAll(async () => {
    server = await PostgresServer.start();
    journal = createPostgresJournal({ url: server.url() });
    other = createPostgresJournal({ url: server.url() });
    for (const id of ["one\0", "two\0"]) await journal.create(header(id));
    const listening = Promise.withResolvers<void>();
    journal.onRequest((execution, request) => heard.push(`${request} ${execution}`));
    journal.onNotify("portcullis_requests", () => listening.resolve());
    await listening.promise;
  }, 120_000);
  afterAll(async () => {
    await other[Symbol.asyncDispose]();
    await journal[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  /** Requests are heard in their order: what came before this one was heard, or never will be. */
  async function heardUntil(last: string): Promise<string[]> {
    await journal.request("two\0", last);
    await expect.poll(() => heard.at(-1)).toBe(`${last} two\0`);
    return heard.splice(0).slice(0, -1);
  }

  test("are heard by other processes", async () => {
    await other.request("one\0", "cancel");
    await other.request("one\0", "interrupt");
    await other.request("unknown", "cancel");
    expect(await heardUntil("a")).toEqual(["cancel one\0", "interrupt one\0"]);
  });

  test("are not made by notices that a client of the database without rights to the tables sends", async () => {
    await server.sql("CREATE ROLE stranger");
    for (const payload of ["", "1", "2", "x", '["cancel","two"]', "9".repeat(18), "9".repeat(400), "1; DROP TABLE x"])
      await server.sql(`SET ROLE stranger; SELECT pg_notify('portcullis_requests', '${payload}')`);
    expect(await heardUntil("b")).toEqual([]);
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
    await apart.create(header("two\0"));
    await apart.request("two\0", "cancel");
    expect(await heardUntil("d")).toEqual([]);
    await apart[Symbol.asyncDispose]();
  });
});
