import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Appended } from "../../../src/journal/index.ts";
import { createSqliteJournal } from "../../../src/index.ts";
import { header } from "../records.ts";
import { newFolder } from "../../support/new-folder.ts";

test("appends through another connection are told without what they appended to, and those of its own with it", async () => {
  const path = join(newFolder(onTestFinished), "journal.db");
  using journal = createSqliteJournal({ path });
  using other = createSqliteJournal({ path });
  const told: Appended[] = [];
  using listening = journal.onAppend?.((appended) => told.push(appended));
  expect(listening).toBeDefined();
  await journal.create(header("own"));
  await other.create(header("other"));
  await expect.poll(() => told.length).toBe(2);
  expect(told).toEqual([{ execution: "own", head: 1, ended: false }, {}]);
});
