import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createPostgresJournal } from "../../../src/fleet/index.ts";
import { noPostgres } from "../../postgres-support/postgres-server.ts";
import { usePostgres } from "../../postgres-support/use-postgres.ts";
import { failing } from "../../support/failing.ts";
import { header } from "../../journal/records.ts";

describe.skipIf(noPostgres)("a database that speaks TLS", () => {
  let certificate: string;
  const server = usePostgres(async () => {
    certificate = join(server.folder, "server.crt");
    const key = join(server.folder, "server.key");
    const names = ["-subj", "/CN=database", "-addext", "subjectAltName=IP:127.0.0.1"];
    execFileSync(
      "openssl",
      ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-keyout", key, "-out", certificate, ...names],
      { stdio: "ignore" },
    );
    const { uid, gid } = statSync(server.folder);
    chownSync(key, uid, gid);
    chmodSync(key, 0o600);
    chmodSync(certificate, 0o644);
    for (const setting of [`ssl_cert_file = '${certificate}'`, `ssl_key_file = '${key}'`, "ssl = on"])
      await server.sql(`ALTER SYSTEM SET ${setting}`);
    await server.stop();
    await server.start();
  });

  test("is spoken to in TLS, for appends and for notices, if the URL names the root of its certificate", async () => {
    const url = server.url({ query: `sslmode=verify-full&sslrootcert=${certificate}` });
    await using journal = createPostgresJournal({ url });
    const told = Promise.withResolvers<void>();
    using listening = journal.onAppend?.(() => told.resolve());
    expect(listening).toBeDefined();
    await journal.create(header("one"));
    await told.promise;
    const { rows } = await journal.query(
      "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'portcullis'",
    );
    expect(rows).toEqual([{ ssl: true }]);
  });

  test("is not spoken to if its certificate leads to no known root", async () => {
    const url = server.url({ query: "sslmode=verify-full" });
    await using journal = createPostgresJournal({ url, unavailableMs: 60_000 });
    await expect(journal.find("one")).rejects.toMatchObject(failing("journal_unavailable", "self-signed certificate"));
  });
});
