import { createRuntime } from "portcullis";
import { createFleet } from "portcullis/fleet";
import { createPostgresJournal } from "portcullis/journal";
import { createMemorySandbox } from "portcullis/testing";
import { describe, expect, test } from "vitest";
import { tool } from "../../../support/tools.ts";
import { noPostgres, type PostgresServer } from "../../../postgres-support/postgres-server.ts";
import { usePostgres } from "../../../postgres-support/use-postgres.ts";
import { fixtures, portcullis, start } from "../../command.ts";

test("a worker is told which journal it needs", async () => {
  const { code, stderr } = await portcullis(["worker", "--journal", "journal.db"]);
  expect(code).toBe(2);
  expect(stderr).toBe(
    "portcullis: A worker needs the journal of its fleet, in PostgreSQL: --journal postgres://user@host/database, or PORTCULLIS_JOURNAL.\n",
  );
  const alone = await portcullis(["worker", "--journal", "postgres://a@b/c", "--host", "0.0.0.0"]);
  expect(alone).toMatchObject({
    code: 2,
    stderr: "portcullis: worker: --host, --keys and --host-name go with --metrics: add --metrics PORT.\n",
  });
  const open = await portcullis(["worker", "--journal", "postgres://a@b/c", "--metrics", "0", "--host", "0.0.0.0"]);
  expect(open).toMatchObject({ code: 2, stderr: expect.stringContaining("add --keys FILE") as string });
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
  usePostgres((started) => {
    server = started;
  });

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

  test("a worker serves its metrics and its readiness to who has its token, and no other path", async () => {
    await using journal = createPostgresJournal({ url: server.url() });
    await using fleet = createFleet({ journal });
    await using runtime = await createRuntime({ tools: [], fleet, sandbox: createMemorySandbox() });
    const args = ["worker", "--tools", `${fixtures}tools.ts`, "--journal", server.url(), "--metrics", "0"];
    const { child, finished } = start(args);
    const ended = finished();
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await expect.poll(() => said, { timeout: 60_000 }).toMatch(/works for the fleet/);
    const url = /tells of itself at (\S+)\/metrics and/.exec(said)?.[1] ?? "";
    const headers = { authorization: `Bearer ${/Authorization: Bearer (\S+)/.exec(said)?.[1] ?? ""}` };
    const id = await runtime.submit("return 6 * 7;", { tools: [] });
    await runtime.wait(id);
    const ask = async (path: string, with_ = headers) => {
      const answer = await fetch(url + path, { headers: with_ });
      return { status: answer.status, text: await answer.text() };
    };
    expect(await ask("/readyz")).toMatchObject({ status: 200, text: expect.stringContaining('"ready"') as string });
    const { text } = await ask("/metrics");
    expect(text).toMatch(/^portcullis_executions_total\{.*portcullis_outcome="completed".*\} 1$/m);
    expect(text).toMatch(/^portcullis_fleet_up 1$/m);
    expect((await ask("/healthz", { authorization: "" })).status).toBe(200);
    expect((await ask("/metrics", { authorization: "" })).status).toBe(401);
    for (const path of ["/v1/executions", "/mcp", "/", "/openapi.json", "/v1/messages"])
      expect(await ask(path)).toMatchObject({
        status: 404,
        text: expect.stringContaining("There are /healthz, /readyz, /metrics.") as string,
      });
    child.kill("SIGTERM");
    expect((await ended).code).toBe(0);
  });
});
