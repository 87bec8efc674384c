import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { portcullis, root, start } from "../cli/command.ts";
import { noPostgres, type PostgresServer } from "../postgres-support/postgres-server.ts";
import { usePostgres } from "../postgres-support/use-postgres.ts";

const OWNER_KEY = "a-secret-of-24-characters-or-more";
const BANK = { BANK_TOKEN: "bank-token-of-the-owner" };

describe.skipIf(noPostgres)("the example of owners", () => {
  let server: PostgresServer;
  usePostgres((started) => {
    server = started;
  });

  test("a worker without tools and secrets charges invoices by an owner, and the large one is approved", async () => {
    const environment = { PORTCULLIS_OWNER_KEY: OWNER_KEY, ...BANK };
    const owner = start(["owner", "--tools", "examples/owners/tools.ts"], { environment, cwd: root });
    let said = "";
    owner.child.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await expect.poll(() => said, { timeout: 60_000 }).toMatch(/--owner (\S+),/);
    const url = /--owner (\S+),/.exec(said)?.[1] ?? "";
    const { stdout: key } = await start(["owner", "--worker-key"], { environment }).finished();
    const journal = { PORTCULLIS_JOURNAL: server.url() };
    const worker = start(["worker", "--owner", url], {
      environment: { PORTCULLIS_WORKER_KEY: key.trim(), ...journal },
      cwd: root,
    });
    const ended = [owner.finished(), worker.finished()];
    const args = ["--conditions=portcullis-source", "--no-warnings", "examples/owners/submit.ts", url];
    const { PATH } = process.env;
    const submitted = await promisify(execFile)(process.execPath, args, {
      cwd: root,
      env: { PATH, PORTCULLIS_OWNER_KEY: OWNER_KEY, ...journal },
    });
    expect(submitted.stdout).toBe(
      'allowed: billing.charge {"id":"I-2","cents":48000}\n' +
        '{"type":"completed","value":{"I-1":"receipt of I-1 by bank","I-2":"receipt of I-2 by bank","I-3":"receipt of I-3 by bank"}}\n',
    );
    for (const { child } of [owner, worker]) child.kill("SIGTERM");
    expect((await Promise.all(ended)).map(({ code }) => code)).toEqual([0, 0]);
    const shown = await portcullis(["executions", "--journal", server.url()]);
    expect(shown.stdout).toContain("completed");
  }, 180_000);
});
