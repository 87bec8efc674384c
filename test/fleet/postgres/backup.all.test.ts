import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createPostgresJournal } from "../../../src/fleet/index.ts";
import { findPostgres } from "../../postgres-support/find-postgres.ts";
import { noPostgres, PostgresServer } from "../../postgres-support/postgres-server.ts";
import { header, outcome, turn } from "../../journal/records.ts";

const run = promisify(execFile);

/** The commands of the document, in which `$URL` and `$COPY` are the databases. */
function commands(): readonly string[] {
  const document = readFileSync("docs/fleet.md", "utf8");
  const block = /```shell\n(pg_dump[^`]*)```/.exec(document)?.[1] ?? "";
  return block.trimEnd().split("\n");
}

test.skipIf(noPostgres)(
  "a copy that is made by the commands of the document while others append has each execution up to one moment",
  async () => {
    await using server = await PostgresServer.start();
    const found = findPostgres();
    if ("reason" in found) throw new Error(found.reason);
    await server.sql("CREATE DATABASE living");
    await server.sql("CREATE DATABASE copy");
    const URL = server.url({ database: "living" });
    await using journal = createPostgresJournal({ url: URL });
    const over = new AbortController();
    let ended = 0;
    const text = (n: number) => turn(`event ${n} ${"x".repeat(n % 7 === 0 ? 20_000 : 10)}`);
    const append = async (writer: number) => {
      for (let n = 0; !over.signal.aborted; n += 1) {
        const id = `${writer}-${n}`;
        let head = await journal.create(header(id));
        for (let record = 0; record < 5; record += 1) head = await journal.append(id, head, [text(n + record)]);
        await journal.append(id, head, [outcome]);
        ended += 1;
      }
    };
    const writers = Array.from({ length: 4 }, (_, writer) => append(writer));
    await expect.poll(() => ended, { timeout: 30_000 }).toBeGreaterThan(20);
    const before = ended;
    const COPY = server.url({ database: "copy" });
    const [dump = "", ...restore] = commands();
    const env = { ...process.env, URL, COPY, PATH: `${found.folder}:${process.env["PATH"] ?? ""}` };
    const shell = (command: string) => run("sh", ["-c", command], { env, cwd: server.folder });
    await shell(dump);
    over.abort();
    await Promise.all(writers);
    expect(ended).toBeGreaterThan(before);
    expect(restore.some((command) => command.startsWith("pg_restore"))).toBe(true);
    for (const command of restore.filter((one) => one.startsWith("pg_restore"))) await shell(command);
    await using copy = createPostgresJournal({ url: COPY });
    expect(await Array.fromAsync(copy.check())).toEqual([]);
    let [copied, open] = [0, 0];
    for await (const { execution, records, ended: hasEnded } of copy.list()) {
      const [own, all] = await Promise.all([copy, journal].map((one) => Array.fromAsync(one.read(execution))));
      expect(own).toEqual(all?.slice(0, records));
      copied += 1;
      open += hasEnded ? 0 : 1;
    }
    expect(copied).toBeGreaterThanOrEqual(before);
    expect(open).toBeLessThanOrEqual(writers.length);
    // A driver goes on with what was open in the copy.
    expect(await copy.create(header("after the copy"))).toBe(1);
    expect(readFileSync(join(server.folder, "portcullis.dump")).length).toBeGreaterThan(1000);
  },
  120_000,
);
