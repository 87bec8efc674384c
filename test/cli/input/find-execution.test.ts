import { join } from "node:path";
import { createSqliteJournal } from "portcullis";
import { beforeAll, expect, test } from "vitest";
import { readResumedHeader } from "../../../src/cli/input/open-journal.ts";
import { createMemoryJournal } from "../../../src/journal/memory-journal.ts";
import { header } from "../../journal/records.ts";
import { keyOf, openServer } from "../../serve/servers.ts";
import { portcullis } from "../command.ts";
import { newFolder } from "../../support/new-folder.ts";

const folder = newFolder();
const path = join(folder, "journal.db");

/** Executions of clients of a server: `mine` of tenant acme, `both` of two tenants. */
beforeAll(async () => {
  using journal = createSqliteJournal({ path });
  await using door = await openServer(undefined, { journal });
  const run = (key: string, execution: string) =>
    door.ask("POST", "/v1/executions", {
      key: keyOf(key),
      body: { program: `await tools.bank.pay({ amount: 1 }); return "${key}";`, id: execution },
    });
  await run("ann", "mine");
  await run("ann", "both");
  await run("bob", "both");
});

const run = async (...args: readonly string[]) => portcullis([...args, "--journal", path]);

test.each([
  ["show", ["show", "mine"], '"ann"'],
  ["journal export", ["journal", "export", "mine"], '"tenant":"acme"'],
  ["show --tenant", ["show", "both", "--tenant", "bolt"], '"bob"'],
])("%s finds an execution by the id that its client has chosen", async (_name, args, expected) => {
  const { code, stdout, stderr } = await run(...args);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain(expected);
});

test.each([
  [
    "show",
    ["show", "both"],
    /^portcullis: Several tenants have an execution both: bolt, acme\. Choose one with --tenant/,
  ],
  [
    "decide",
    ["decide", "mine", "1", "--allow"],
    /^portcullis: Tenant default has no execution mine, but another tenant has: choose it with --tenant \(acme\)\.$/m,
  ],
  ["show of none", ["show", "none"], /no execution "none"/],
])("where it is not clear which is meant, %s says what to add", async (_name, args, expected) => {
  const { code, stdout, stderr } = await run(...args);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(expected);
});

test("decide and resume take it by the id that its client has chosen", async () => {
  const decided = await run("decide", "mine", "1", "--deny", "--tenant", "acme");
  expect([decided.code, decided.stderr]).toEqual([0, expect.stringContaining("--tenant acme")]);
  const shown = await run("show", "mine");
  expect(shown.stdout).toContain("denied");
});

test("a program of a conversation goes on with the conversation, and one whose conversation is gone by itself", async () => {
  const journal = createMemoryJournal();
  const lease = { driver: "00000000-0000-4000-8000-000000000000", until: 0 };
  await journal.create(header("whole"), lease);
  await journal.create(header("part", { parent: { execution: "whole", call: "call-1" } }), lease);
  await journal.create(header("orphan", { parent: { execution: "gone", call: "call-1" } }), lease);
  const resumed = async (execution: string) => (await readResumedHeader(journal, execution))?.execution;
  expect([await resumed("whole"), await resumed("part"), await resumed("orphan")]).toEqual([
    "whole",
    "whole",
    "orphan",
  ]);
});
