import { describe, expect, test } from "vitest";
import type { PostgresJournalOptions } from "../../../../src/fleet/postgres/postgres-options.ts";
import { createRuntime } from "../../../../src/index.ts";
import { createServer } from "../../../../src/serve/index.ts";
import { createMemorySandbox } from "../../../../src/runtime/testing.ts";
import { portcullis } from "../../../cli/command.ts";
import { noPostgres } from "../../../postgres-support/postgres-server.ts";
import { journalsOf, usePostgres } from "../../../postgres-support/use-postgres.ts";
import { header } from "../../../journal/records.ts";

/** Holds `src/fleet/postgres/connection/diagnose.ts`, `src/serve/api/handlers/health.ts` and `src/cli/commands/doctor.ts`. */
describe.skipIf(noPostgres)("what is found out about a database", () => {
  const server = usePostgres();
  const journalOf = journalsOf(server);
  const diagnose = async (options: Partial<PostgresJournalOptions> = {}) => journalOf(options).diagnose?.() ?? [];

  test("a database without a journal, and with one, is good", async () => {
    const schema = "fresh";
    expect(await diagnose({ schema })).toMatchObject([
      {
        what: "database",
        state: "good",
        detail: expect.stringMatching(/^PostgreSQL [\d.]+.* at postgres:\/\/postgres@/),
      },
      { what: "journal format", state: "good", detail: "the schema fresh has no journal; the first use makes one" },
    ]);
    const journal = journalOf({ schema });
    await journal.create(header("one"));
    const found = (await journal.diagnose?.()) ?? [];
    expect(found.map(({ what, state }) => [what, state])).toEqual([
      ["database", "good"],
      ["journal format", "good"],
      ["journal rights", "good"],
    ]);
  });

  test("however many ask at once, they take one connection together", async () => {
    const journal = journalOf({ schema: "asked" });
    const asked = await Promise.all(Array.from({ length: 50 }, () => journal.diagnose?.()));
    expect(new Set(asked).size).toBe(1);
    expect(await journal.diagnose?.()).not.toBe(asked[0]);
  });

  test.each([
    ["a wrong password", () => server.url({ password: "s3cret" }), "refuses this user"],
    ["no such database", () => server.url({ database: "nowhere" }), "createdb"],
    ["no server", () => "postgres://ana:s3cret@127.0.0.1:1/work", "Check that the database"],
  ])("%s is one sentence without the password, at once", async (_, url, sentence) => {
    const found = await diagnose({ url: url(), unavailableMs: 600_000 });
    const detail = expect.stringContaining(sentence) as string;
    expect(found).toMatchObject([{ what: "database", state: "missing", code: "journal_unavailable", detail }]);
    expect(JSON.stringify(found)).not.toContain("s3cret");
  });

  test("tables of another build, a role without rights and one that may make no journal", async () => {
    const stateOf = async (options: Partial<PostgresJournalOptions>, what: string) =>
      (await diagnose(options)).find((one) => one.what === what);
    await journalOf({ schema: "other" }).create(header("one"));
    for (const version of [0, 99]) {
      await server.sql(`UPDATE other.journal_format SET version = ${version}`);
      const refused = {
        state: "missing",
        code: "journal_version",
        detail: expect.stringContaining(`version ${version}`),
      };
      expect(await stateOf({ schema: "other" }, "journal format")).toMatchObject(refused);
    }
    await server.sql("UPDATE other.journal_format SET version = 1");
    expect(await stateOf({ schema: "other" }, "journal format")).toMatchObject({ state: "good", detail: "version 1" });
    await server.sql(`CREATE ROLE guest LOGIN PASSWORD 'guest-word'`);
    const guest = server.url({ user: "guest", password: "guest-word" });
    const denied = { state: "missing", code: "journal_read_only" };
    expect(await stateOf({ url: guest, schema: "other" }, "journal format")).toMatchObject({
      ...denied,
      detail: expect.stringContaining("Let its owner grant the rights"),
    });
    expect(await stateOf({ url: guest, schema: "none" }, "journal format")).toMatchObject({
      ...denied,
      detail: expect.stringContaining("GRANT CREATE ON DATABASE"),
    });
    await server.sql("GRANT USAGE ON SCHEMA other TO guest; GRANT SELECT ON other.journal_format TO guest");
    expect(await stateOf({ url: guest, schema: "other" }, "journal rights")).toMatchObject(denied);
  });

  test("doctor tells it, and ends with the code of a machine that cannot be used", async () => {
    const good = await portcullis(["doctor", "--json", "--journal", server.url()]);
    const states = (text: string) =>
      (JSON.parse(text) as { what: string; state: string }[]).filter(({ what }) => /database|journal/.test(what));
    expect(states(good.stdout)).toMatchObject([{ what: "database", state: "good" }, { what: "journal format" }]);
    const bad = await portcullis(["doctor", "--json", "--journal", server.url({ password: "s3cret" })]);
    expect(bad.code).not.toBe(0);
    expect(states(bad.stdout)).toMatchObject([{ what: "database", state: "missing" }]);
    expect(bad.stdout).not.toContain("s3cret");
  }, 120_000);

  // The last one: it ends the database.
  test("a server of the HTTP API is ready with what was found, and without a database not, at once and without its address", async () => {
    const journal = journalOf({ unavailableMs: 600_000 });
    await using runtime = await createRuntime({ tools: [], journal, sandbox: createMemorySandbox() });
    const http = await createServer(runtime, { token: "t".repeat(32) });
    const ask = () =>
      http.fetch(new Request("http://localhost/readyz", { headers: { authorization: `Bearer ${"t".repeat(32)}` } }));
    const answer = await ask();
    expect(answer.status).toBe(200);
    const told = (await answer.json()) as {
      readonly status: string;
      readonly journal: readonly { readonly what: string }[];
    };
    expect(told.status).toBe("ready");
    expect(told.journal[0]).toEqual({ what: "database", state: "good" });
    expect(told.journal.map(({ what }) => what)).toContain("journal format");
    await server.kill();
    const refused = await ask();
    const text = await refused.text();
    expect(refused.status).toBe(503);
    expect(JSON.parse(text)).toMatchObject({ error: { code: "journal_unavailable" } });
    expect(text).not.toContain("127.0.0.1");
    await http.close();
  }, 60_000);
});
