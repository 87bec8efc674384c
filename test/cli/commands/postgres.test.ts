import { readFileSync } from "node:fs";
import { createRuntime, type RuntimeOptions } from "portcullis";
import { createFleet, createPostgresJournal } from "portcullis/fleet";
import { createMemorySandbox } from "portcullis/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { noPostgres } from "../../postgres-support/postgres-server.ts";
import { usePostgres } from "../../postgres-support/use-postgres.ts";
import { tool, makeTool } from "../../support/tools.ts";
import { begin, fixtures, portcullis, start } from "../command.ts";

describe.skipIf(noPostgres)("commands on a journal in PostgreSQL", () => {
  const server = usePostgres();

  /** The URL of a new database. */
  async function newDatabase(name: string): Promise<string> {
    await server.sql(`CREATE DATABASE ${name}`);
    return server.url({ database: name });
  }

  test("run, show, decide, resume, export, import, check and prune work as with a file, and no output has the password", async () => {
    const tools = ["--tools", `${fixtures}tools.ts`];
    const journal = ["--journal", await newDatabase("one")];
    const ran = await portcullis(
      ["run", "-", ...tools, ...journal, "--approve", "later", "--approve-program", "--id", "one"],
      "return (await tools.echo({ n: 1 })).n;",
    );
    expect(ran).toMatchObject({ code: 6 });
    const listed = await portcullis(["show", ...journal]);
    expect(listed.stdout).toMatch(/ program +one +waiting, /);
    const shown = await portcullis(["show", "one", ...journal]);
    const decided = await portcullis(["decide", "one", "program", "--allow", ...journal]);
    expect(decided.code).toBe(0);
    const resumed = await portcullis(["resume", "one", ...tools, ...journal]);
    expect(resumed).toMatchObject({ code: 0, stdout: "1\n" });
    const outputs = [ran, listed, shown, decided, resumed].map(({ stdout, stderr }) => stdout + stderr).join("\n");
    expect(outputs).toContain(`--journal ${server.url({ password: "", database: "one" })}`);
    expect(outputs).not.toContain(new URL(server.url()).password);

    const exported = await portcullis(["journal", "export", "one", ...journal]);
    const other = ["--journal", await newDatabase("other")];
    const imported = await portcullis(["journal", "import", "-", ...other], exported.stdout);
    expect(imported).toMatchObject({ code: 0, stderr: "1 execution was added.\n" });
    expect((await portcullis(["journal", "export", "one", ...other])).stdout).toBe(exported.stdout);
    expect((await portcullis(["journal", "check", ...other])).code).toBe(0);
    const pruned = await portcullis(["journal", "prune", "--older-than", "1ms", ...other]);
    expect(pruned.stderr).toBe("1 execution was deleted.\n");
  });

  test("a wrong password, no database and no server end with exit code 5 and what to do, without the password", async () => {
    const wrong = await portcullis(["show", "--journal", server.url({ password: "s3cret-word" })]);
    expect(wrong).toMatchObject({ code: 5, stderr: expect.stringContaining("refuses this user") as string });
    const none = await portcullis(["show", "--journal", server.url({ database: "nowhere" })]);
    expect(none).toMatchObject({ code: 5, stderr: expect.stringContaining("There is no such database") as string });
    expect(wrong.stderr + none.stderr).not.toMatch(/s3cret-word|correct-horse/);
  });

  test.skipIf(process.platform !== "linux")("the arguments of the process do not show the password", async () => {
    const following = start(["serve", "--port", "0", "--journal", server.url()]);
    try {
      const { pid } = following.child;
      await expect.poll(() => readFileSync(`/proc/${pid}/cmdline`, "utf8")).toMatch(/^portcullis/);
      expect(readFileSync(`/proc/${pid}/cmdline`, "utf8")).not.toContain("correct-horse");
    } finally {
      following.child.kill("SIGINT");
      await following.finished();
    }
  });

  test("decide wakes a worker of the fleet at once, and makes no queue where there is no fleet", async () => {
    const pay = makeTool({
      name: "pay",
      inputSchema: z.object({ euros: z.number() }),
      effect: "write",
      approval: "always",
      execute: ({ euros }) => euros,
    });
    const common = { tools: [pay], approve: () => "later", logger: { error: () => {} } } satisfies RuntimeOptions;
    const url = await newDatabase("decided");
    await using journal = createPostgresJournal({ url });
    await using alone = await createRuntime({ ...common, journal, sandbox: createMemorySandbox() });
    const waiting = await alone.execute("return tools.pay({ euros: 1 })");
    const noted = await portcullis(["decide", waiting.execution, "1", "--deny", "--journal", url]);
    expect(noted).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Noted\. Resume it/) as string });
    const schemas = "SELECT nspname FROM pg_namespace WHERE nspname = 'portcullis_queue'";
    expect(await server.sqlIn("decided", schemas)).toEqual([]);

    await using fleet = createFleet({ journal });
    await using runtime = await createRuntime({ ...common, fleet, sandbox: createMemorySandbox() });
    // Nothing but a wake tells this worker.
    await using worker = await runtime.fleet!.work(runtime, { reconcileMs: 3_600_000 });
    expect(worker).toBeDefined();
    const id = await runtime.fleet!.submit(runtime, "return tools.pay({ euros: 7 })");
    expect((await runtime.execution(id).wait()).listed).toMatchObject({ state: "waiting" });
    const decided = await portcullis(["decide", id, "1", "--allow", "--journal", url]);
    expect(decided).toMatchObject({ code: 0, stderr: expect.stringContaining(id) as string });
    expect((await runtime.execution(id).wait()).report?.outcome).toEqual({ type: "completed", value: 7 });
  });

  test("a worker drives what is submitted, serves its metrics and its readiness to who has its token and no other path, and ends with 0", async () => {
    const url = await newDatabase("worked");
    await using journal = createPostgresJournal({ url });
    await using fleet = createFleet({ journal });
    const tools = [tool("echo", (input) => input)];
    await using runtime = await createRuntime({ tools, fleet, sandbox: createMemorySandbox() });
    const numbers = ["--set", "concurrency=2", "--set", "leaseMs=3s", "--set", "reconcileMs=500", "--metrics", "0"];
    const worker = begin(["worker", "--tools", `${fixtures}tools.ts`, "--journal", url, ...numbers]);
    await worker.until(`works for the fleet of postgres://postgres@127.0.0.1:${server.port}/worked`);
    const id = await runtime.fleet!.submit(runtime, "return 6 * 7;", { tools: [] });
    expect((await runtime.execution(id).wait()).report?.outcome).toEqual({ type: "completed", value: 42 });
    const [, own = "", token = ""] =
      /tells of itself at (\S+)\/metrics and[^]*Authorization: Bearer (\S+)/.exec(worker.written().stderr) ?? [];
    const ask = async (path: string, authorization = `Bearer ${token}`) => {
      const answer = await fetch(own + path, { headers: { authorization } });
      return { status: answer.status, text: await answer.text() };
    };
    expect(await ask("/readyz")).toMatchObject({ status: 200, text: expect.stringContaining('"ready"') as string });
    const { text } = await ask("/metrics");
    expect(text).toMatch(/^portcullis_executions_total\{.*portcullis_outcome="completed".*\} 1$/m);
    expect(text).toMatch(/^portcullis_fleet_up 1$/m);
    expect((await ask("/healthz", "")).status).toBe(200);
    expect((await ask("/metrics", "")).status).toBe(401);
    for (const path of ["/v1/executions", "/mcp", "/", "/openapi.json", "/v1/messages"])
      expect((await ask(path)).status).toBe(404);
    worker.hear("SIGTERM");
    const { code, stderr } = await worker.finished;
    expect(code).toBe(0);
    expect(stderr).not.toContain(new URL(server.url()).password);
  });
});
