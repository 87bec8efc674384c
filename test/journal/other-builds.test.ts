import { createReadStream, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { createSqliteJournal } from "../../src/index.ts";
import { createMemoryJournal, exportLines, importLines, type Journal, readLines } from "../../src/journal/index.ts";
import { executed, failing, newFolder } from "../support/index.ts";

async function runIn(journal: Journal): Promise<string> {
  return (await executed([], "return 1", {}, { journal })).execution;
}

test.each([0, 2, 99])(
  "a file whose tables another build made, of version %i, is refused with what to do, and stays as it is",
  async (version) => {
    const path = join(newFolder(onTestFinished), "journal.db");
    {
      using journal = createSqliteJournal({ path });
      await runIn(journal);
    }
    const database = new DatabaseSync(path);
    database.exec(`PRAGMA journal_mode = DELETE; PRAGMA user_version = ${version}`);
    database.close();
    const before = readFileSync(path);
    expect(() => createSqliteJournal({ path })).toThrow(
      expect.objectContaining(
        failing("journal_version", new RegExp(`${path} has version ${version} .*portcullis journal export$`)),
      ),
    );
    expect(readFileSync(path)).toEqual(before);
  },
);

test.each([0, 2, undefined])(
  "an exported file of format %s is refused with its lines and what to do, and nothing of it is added",
  async (format) => {
    const journal = createMemoryJournal();
    const execution = await runIn(journal);
    const lines = await Array.fromAsync(exportLines(journal, [execution]));
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ type: "header", format: 1 });
    const path = join(newFolder(onTestFinished), "export.jsonl");
    const others = lines.map((line) => JSON.parse(line) as { readonly type: string });
    writeFileSync(
      path,
      others.map((one) => JSON.stringify(one.type === "header" ? { ...one, format } : one)).join("\n"),
    );
    const empty = createMemoryJournal();
    await expect(Array.fromAsync(importLines(empty, readLines(createReadStream(path))))).rejects.toMatchObject(
      failing("journal_version", `Lines 1 to ${lines.length}: The journal has format ${format}`),
    );
    expect(await Array.fromAsync(empty.list())).toEqual([]);
  },
);
