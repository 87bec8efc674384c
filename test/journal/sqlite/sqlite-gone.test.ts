import { spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSqliteJournal } from "portcullis";
import { expect, onTestFinished, test } from "vitest";
import { failing, newFolder, testOfAll } from "../../support/index.ts";
import { header } from "../records.ts";

test("a journal whose file is moved away takes no records, until it is put back", async () => {
  const path = join(newFolder(onTestFinished), "journal.db");
  using journal = createSqliteJournal({ path });
  await journal.create(header("e1"));
  renameSync(path, `${path}.away`);
  await expect(journal.create(header("e2"))).rejects.toMatchObject({ code: "journal_gone" });
  await expect(journal.find("e1")).rejects.toMatchObject({ code: "journal_gone" });
  renameSync(`${path}.away`, path);
  await journal.create(header("e2"));
  expect(await journal.find("e2")).toMatchObject({ records: 1 });
});

test.each(["-wal", "-shm"])(
  "a journal whose %s is deleted takes no records, and has those that it took",
  async (end) => {
    const folder = newFolder(onTestFinished);
    const path = join(folder, "journal.db");
    const journal = createSqliteJournal({ path });
    await journal.create(header("e1"));
    rmSync(`${path}${end}`);
    await expect(journal.create(header("e2"))).rejects.toMatchObject(failing("journal_gone", `${path}${end}`));
    await expect(journal.find("e1")).rejects.toMatchObject({ code: "journal_gone" });
    // What a crash leaves: the file as it is before the journal is closed.
    const left = join(folder, "left.db");
    copyFileSync(path, left);
    if (end === "-shm") copyFileSync(`${path}-wal`, `${left}-wal`);
    using again = createSqliteJournal({ path: left });
    expect(await again.find("e1")).toMatchObject({ records: 1 });
    await expect(again.find("e2")).rejects.toMatchObject({ code: "execution_unknown" });
    journal[Symbol.dispose]();
  },
);

test("a journal whose log another process has begun anew writes nothing into the journal", async () => {
  const path = join(newFolder(onTestFinished), "journal.db");
  using journal = createSqliteJournal({ path });
  await journal.create(header("e1"));
  rmSync(`${path}-wal`);
  writeFileSync(`${path}-wal`, "");
  const before = readFileSync(path);
  await expect(journal.create(header("e2"))).rejects.toMatchObject({ code: "journal_gone" });
  expect(readFileSync(path).equals(before)).toBe(true);
});

/** What a module prints whose files may have so many blocks of 512 bytes. */
function withinBlocks(blocks: number, module: string): string {
  const node = `"${process.execPath}" --conditions=portcullis-source --input-type=module`;
  return spawnSync("sh", ["-c", `ulimit -f ${blocks}; exec ${node}`], { input: module, encoding: "utf8" }).stdout;
}

testOfAll("a journal that has no room for its tables is not made, and says so", () => {
  const folder = newFolder(onTestFinished);
  const make = `import { createSqliteJournal } from "portcullis";
    try {
      createSqliteJournal({ path: ${JSON.stringify(join(folder, "journal.db"))} });
    } catch ({ code }) {
      process.stdout.write(code);
    }`;
  expect(withinBlocks(20, make)).toBe("journal_unavailable");
});

testOfAll("a journal whose file may not grow is not said to be damaged, and has what it took", async () => {
  const path = join(newFolder(onTestFinished), "journal.db");
  const fill = `import { createSqliteJournal } from "portcullis";
    import { header } from "./test/journal/records.ts";
    const journal = createSqliteJournal({ path: ${JSON.stringify(path)} });
    try {
      for (let n = 0; ; n += 1) await journal.create(header("e" + n));
    } catch ({ code }) {
      process.stdout.write(code);
    }`;
  expect(withinBlocks(400, fill)).toBe("journal_unavailable");
  using journal = createSqliteJournal({ path });
  expect(await Array.fromAsync(journal.check?.() ?? [])).toEqual([]);
  expect(await journal.find("e0")).toMatchObject({ records: 1 });
});
