import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { createSqliteJournal } from "../../../../src/index.ts";
import { header, outcome, RECORDS } from "../../../journal/records.ts";
import { newFolder } from "../../../support/new-folder.ts";
import { fixtures, portcullis } from "../../command.ts";

const folder = newFolder();
const path = join(folder, "journal.db");
const JOURNAL = ["--journal", path];

beforeAll(async () => {
  const run = ["run", "-", "--tools", `${fixtures}tools.ts`, ...JOURNAL];
  await portcullis(run, "console.log('hi'); return (await tools.echo({ n: 1 })).n;");
  using journal = createSqliteJournal({ path });
  await journal.create(header("left-open", { startedAt: 5 }));
  await journal.append("left-open", 1, RECORDS.slice(1, 2));
});

test("an exported journal can be imported elsewhere, and exports the same lines", async () => {
  const exported = await portcullis(["journal", "export", ...JOURNAL]);
  const copy = ["--journal", join(folder, "copy.db")];
  const imported = await portcullis(["journal", "import", ...copy], exported.stdout);
  expect(imported).toMatchObject({ code: 0, stderr: "2 executions were added.\n" });
  expect((await portcullis(["journal", "export", ...copy])).stdout).toBe(exported.stdout);
  expect(await portcullis(["journal", "check", ...copy])).toMatchObject({ code: 0, stderr: "The journal is whole.\n" });
});

test("what a record holds controls no terminal that shows an export, and is imported as it was", async () => {
  const from = join(folder, "hostile.db");
  const program = "\u001b[2J\u009b2J\u202e\u2028";
  {
    using journal = createSqliteJournal({ path: from });
    await journal.create(header("hostile", { program }));
  }
  const { stdout } = await portcullis(["journal", "export", "--journal", from]);
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/);
  expect(JSON.parse(stdout)).toMatchObject({ program });
});

test("prune leaves open executions, unless --open is given, and check names the execution that is damaged", async () => {
  const file = join(folder, "prune.db");
  {
    using journal = createSqliteJournal({ path: file });
    for (const id of ["ended", "open", "damaged"]) await journal.create(header(id, { startedAt: 1 }));
    await journal.append("ended", 1, [outcome]);
    await journal.append("damaged", 1, [outcome, outcome]);
  }
  const own = ["--journal", file];
  const checked = await portcullis(["journal", "check", ...own]);
  expect(checked).toMatchObject({ code: 1, stdout: "damaged: it has 2 outcomes\n", stderr: "1 problem.\n" });
  const pruned = await portcullis(["journal", "prune", "--older-than", "30d", ...own]);
  expect(pruned).toMatchObject({ code: 0, stderr: "2 executions were deleted.\n" });
  expect((await portcullis(["journal", "prune", "--older-than", "30d", "--open", ...own])).stderr).toBe(
    "1 execution was deleted.\n",
  );
});

test("import reads a file, tells how many it added, and passes over what the journal has with --skip-existing", async () => {
  const [lines, into] = [join(folder, "lines.jsonl"), ["--journal", join(folder, "into.db")]];
  const { stdout } = await portcullis(["journal", "export", "left-open", ...JOURNAL]);
  writeFileSync(lines, stdout);
  expect(await portcullis(["journal", "import", lines, ...into])).toMatchObject({
    code: 0,
    stderr: "1 execution was added.\n",
  });
  expect((await portcullis(["journal", "import", lines, ...into])).stderr).toContain("already");
  const skipped = await portcullis(["journal", "import", "-", "--skip-existing", "--json", ...into], stdout);
  expect(skipped).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(skipped.stdout)).toEqual({ added: 0, skipped: 1 });
});

test.each([
  ["a file that is missing", "absent.jsonl"],
  ["a folder", ""],
])("an import of %s is refused, and creates no journal", async (_, name) => {
  const journal = join(folder, "absent.db");
  const refused = await portcullis(["journal", "import", join(folder, name), "--journal", journal]);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("cannot be read");
  expect(existsSync(journal)).toBe(false);
});

const waits = "left-open";
test.each<[string, readonly string[]]>([
  ["show", ["show", "gone", ...JOURNAL]],
  ["decide of no execution", ["decide", "gone", "1", "--allow", ...JOURNAL]],
  ["decide of no call", ["decide", waits, "99", "--allow", ...JOURNAL]],
  ["resume", ["resume", "gone", ...JOURNAL]],
  ["journal export", ["journal", "export", "gone", ...JOURNAL]],
])("the command that the error of %s names runs as it is pasted", async (_, args) => {
  const { code, stderr } = await portcullis(args);
  expect(code).toBe(2);
  const [, named] = /portcullis (show .*)$/m.exec(stderr.trimEnd()) ?? [];
  expect(named, stderr).toBeDefined();
  expect(await portcullis(named!.split(" "))).toMatchObject({ code: 0 });
});
