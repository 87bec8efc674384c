import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSqliteJournal } from "portcullis";
import { expect, test } from "vitest";
import { header } from "../records.ts";

test("a journal whose file is moved away takes no records, until it is put back", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-gone-"));
  const path = join(folder, "journal.db");
  using journal = createSqliteJournal({ path });
  await journal.create(header("e1"));
  renameSync(path, `${path}.away`);
  await expect(journal.create(header("e2"))).rejects.toMatchObject({ code: "journal_gone" });
  await expect(journal.find("e1")).rejects.toMatchObject({ code: "journal_gone" });
  renameSync(`${path}.away`, path);
  await journal.create(header("e2"));
  expect(await journal.find("e2")).toMatchObject({ records: 1 });
  rmSync(folder, { recursive: true });
});

test.each(["-wal", "-shm"])(
  "a journal whose %s is deleted takes no records, and has those that it took",
  async (end) => {
    const folder = mkdtempSync(join(tmpdir(), "portcullis-gone-"));
    const path = join(folder, "journal.db");
    const journal = createSqliteJournal({ path });
    await journal.create(header("e1"));
    rmSync(`${path}${end}`);
    await expect(journal.create(header("e2"))).rejects.toMatchObject({
      code: "journal_gone",
      message: expect.stringContaining(`${path}${end}`) as string,
    });
    await expect(journal.find("e1")).rejects.toMatchObject({ code: "journal_gone" });
    // What a crash leaves: the file as it is before the journal is closed.
    const left = join(folder, "left.db");
    copyFileSync(path, left);
    if (end === "-shm") copyFileSync(`${path}-wal`, `${left}-wal`);
    using again = createSqliteJournal({ path: left });
    expect(await again.find("e1")).toMatchObject({ records: 1 });
    await expect(again.find("e2")).rejects.toMatchObject({ code: "execution_unknown" });
    journal[Symbol.dispose]();
    rmSync(folder, { recursive: true });
  },
);

test("a journal whose log another process has begun anew writes nothing into the journal", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-gone-"));
  const path = join(folder, "journal.db");
  using journal = createSqliteJournal({ path });
  await journal.create(header("e1"));
  rmSync(`${path}-wal`);
  writeFileSync(`${path}-wal`, "");
  const before = readFileSync(path);
  await expect(journal.create(header("e2"))).rejects.toMatchObject({ code: "journal_gone" });
  expect(readFileSync(path).equals(before)).toBe(true);
  rmSync(folder, { recursive: true });
});
