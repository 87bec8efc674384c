import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { noPostgres, PostgresServer } from "../../../postgres-support/postgres-server.ts";
import { fixtures, ownProcess, portcullis, start } from "../../command.ts";

describe.skipIf(noPostgres)("--journal with the URL of a database", () => {
  let server: PostgresServer;
  let journal: readonly string[];
  beforeAll(async () => {
    server = await PostgresServer.start();
    journal = ["--journal", server.url()];
  }, 120_000);
  afterAll(() => server[Symbol.asyncDispose]());

  test("runs, shows, decides and resumes as with a file, and no output has the password", async () => {
    const tools = ["--tools", `${fixtures}tools.ts`];
    const ran = await portcullis(
      ["run", "-", ...tools, ...journal, "--approve", "later", "--approve-program", "--execution", "one"],
      "return (await tools.echo({ n: 1 })).n;",
    );
    expect(ran).toMatchObject({ code: 6 });
    const listed = await portcullis(["executions", ...journal]);
    expect(listed.stdout).toMatch(/^one +program +waiting /m);
    const shown = await portcullis(["show", "one", ...journal]);
    const decided = await portcullis(["decide", "one", "program", "--allow", ...journal]);
    expect(decided.code).toBe(0);
    const resumed = await portcullis(["resume", "one", ...tools, ...journal]);
    expect(resumed).toMatchObject({ code: 0, stdout: "1\n" });
    const outputs = [ran, listed, shown, decided, resumed].map(({ stdout, stderr }) => stdout + stderr).join("\n");
    expect(outputs).toContain(`--journal ${server.url({ password: "" })}`);
    expect(outputs).not.toContain(new URL(server.url()).password);
  });

  test("exports what import adds again elsewhere, and checks and prunes", async () => {
    const exported = await portcullis(["journal", "export", "one", ...journal]);
    const other = ["--journal", server.url({ database: "other" })];
    await server.sql("CREATE DATABASE other");
    const imported = await portcullis(["journal", "import", "-", ...other], exported.stdout);
    expect(imported).toMatchObject({ code: 0, stderr: "1 execution was added.\n" });
    expect((await portcullis(["journal", "export", "one", ...other])).stdout).toBe(exported.stdout);
    expect(await portcullis(["journal", "check", ...other])).toMatchObject({
      code: 0,
      stderr: "The journal is whole.\n",
    });
    const pruned = await portcullis(["journal", "prune", "--older-than", "1ms", ...other]);
    expect(pruned.stderr).toBe("1 execution was deleted.\n");
  });

  test("a wrong password, no database and no server end with exit code 5 and what to do, without the password", async () => {
    const wrong = await portcullis(["executions", "--journal", server.url({ password: "s3cret-word" })]);
    expect(wrong).toMatchObject({ code: 5, stderr: expect.stringContaining("refuses this user") as string });
    const none = await portcullis(["executions", "--journal", server.url({ database: "nowhere" })]);
    expect(none).toMatchObject({ code: 5, stderr: expect.stringContaining("There is no such database") as string });
    expect(wrong.stderr + none.stderr).not.toMatch(/s3cret-word|correct-horse/);
  });

  test.skipIf(process.platform !== "linux")("the arguments of the process do not show the password", async () => {
    const following = start(["executions", "--follow", "--journal", server.url()]);
    try {
      const { pid } = following.child;
      await expect.poll(() => readFileSync(`/proc/${pid}/cmdline`, "utf8"), { timeout: 20_000 }).toMatch(/^portcullis/);
      expect(readFileSync(`/proc/${pid}/cmdline`, "utf8")).not.toContain("correct-horse");
    } finally {
      following.child.kill("SIGINT");
      await following.finished();
    }
  });

  test("the password may be in the environment alone", async () => {
    const environment = { PORTCULLIS_JOURNAL: server.url({ password: "" }), PGPASSWORD: "correct-horse-7" };
    const { code, stdout } = await ownProcess(["executions"], "", { environment });
    expect(code).toBe(0);
    expect(stdout).toContain("one");
  });
});
