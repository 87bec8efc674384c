import { mkdtempSync, renameSync, rmSync } from "node:fs";
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
