import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSqliteJournal } from "portcullis";
import { createIsolateSandbox } from "portcullis/sandboxes";
import { expect, onTestFinished, test } from "vitest";
import { testOfAll } from "../../support/all-tests.ts";
import { answersOf, expectRight } from "./many-clients.ts";

test("8 clients whose programs run at once are all answered right", async () => {
  const answers = await answersOf(8);
  expect(answers).toHaveLength(8);
  expectRight(answers);
});

testOfAll(
  "200 clients whose programs run in isolates, with a journal in a file, are all answered right",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "portcullis-many-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    await using sandbox = createIsolateSandbox();
    using journal = createSqliteJournal({ path: join(folder, "j.db") });
    expectRight(await answersOf(200, { sandbox, journal }));
  },
  300_000,
);
