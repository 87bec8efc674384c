import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Appended } from "../../../src/journal/index.ts";
import { createSqliteJournal } from "../../../src/index.ts";
import { header } from "../records.ts";

test("appends through another connection are told without what they appended to, and those of its own with it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-others-"));
  const path = join(folder, "journal.db");
  using journal = createSqliteJournal({ path });
  using other = createSqliteJournal({ path });
  const told: Appended[] = [];
  using listening = journal.onAppend?.((appended) => told.push(appended));
  expect(listening).toBeDefined();
  await journal.create(header("own"));
  await other.create(header("other"));
  await expect.poll(() => told.length).toBe(2);
  expect(told).toEqual([{ execution: "own", head: 1, ended: false }, {}]);
  rmSync(folder, { recursive: true });
});
