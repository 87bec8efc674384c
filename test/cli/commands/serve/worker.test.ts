import { createRuntime } from "portcullis";
import { createFleet } from "portcullis/fleet";
import { createPostgresJournal } from "portcullis/journal";
import { createMemorySandbox } from "portcullis/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tool } from "../../../support/tools.ts";
import { noPostgres, PostgresServer } from "../../../postgres-support/postgres-server.ts";
import { fixtures, portcullis, start } from "../../command.ts";

test("a worker is told which journal it needs", async () => {
  const { code, stderr } = await portcullis(["worker", "--journal", "journal.db"]);
  expect(code).toBe(2);
  expect(stderr).toBe(
    "portcullis: A worker needs the journal of its fleet, in PostgreSQL: --journal postgres://user@host/database, or PORTCULLIS_JOURNAL.\n",
  );
  const wrong = await portcullis(["worker", "--journal", "postgres://a@b/c", "--lease-ms", "5"]);
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("--lease-ms") });
});

test("serve drives elsewhere only with a journal that workers reach", async () => {
  const { code, stderr } = await portcullis(["serve", "--workers", "elsewhere", "--port", "0"]);
  expect(code).toBe(2);
  expect(stderr).toBe(
    "portcullis: --workers elsewhere needs the journal of its fleet, in PostgreSQL: --journal postgres://user@host/database, or PORTCULLIS_JOURNAL.\n",
  );
});

describe.skipIf(noPostgres)("with PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  }, 120_000);
  afterAll(() => server[Symbol.asyncDispose](), 60_000);

  test("a worker drives what is submitted, ends with 0 when it is told to, and names no password", async () => {
    await using journal = createPostgresJournal({ url: server.url() });
    await using fleet = createFleet({ journal });
    const tools = [tool("echo", (input) => input)];
    await using runtime = await createRuntime({ tools, fleet, sandbox: createMemorySandbox() });
    const id = await runtime.submit("return 6 * 7;", { tools: [] });
    const numbers = ["--concurrency", "2", "--lease-ms", "3000", "--reconcile-ms", "500"];
    const { child, finished } = start([
      "worker",
      "--tools",
      `${fixtures}tools.ts`,
      "--journal",
      server.url(),
      ...numbers,
    ]);
    const ended = finished();
    expect((await runtime.wait(id)).report?.outcome).toEqual({ type: "completed", value: 42 });
    child.kill("SIGTERM");
    const { code, stderr } = await ended;
    expect(code).toBe(0);
    expect(stderr).toContain(
      `portcullis: works for the fleet of postgres://postgres@127.0.0.1:${server.port}/postgres`,
    );
    expect(stderr).not.toContain(new URL(server.url()).password);
  });
});
