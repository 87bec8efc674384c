import { createSqliteJournal } from "portcullis";
import { createMemoryJournal, importLines, readLines } from "portcullis/journal";
import { join } from "node:path";
import { Readable } from "node:stream";
import { onTestFinished, test } from "vitest";
import { holdSentences } from "../support/sentences.ts";
import { header, outcome, turn } from "./records.ts";
import { newFolder } from "../support/new-folder.ts";

const imported = (text: string, most?: number) => () =>
  Array.fromAsync(importLines(createMemoryJournal(), readLines(Readable.from([Buffer.from(text)]), most)));
const lineOf = (record: object) => `${JSON.stringify(record)}\n`;

test("each refusal of a journal has a code and one sentence", async () => {
  const journal = createMemoryJournal({ keepLength: 1 });
  await journal.create(header("one"));
  const folder = newFolder(onTestFinished);
  await holdSentences([
    () => journal.create(header("one", { tenant: "other" })),
    () => journal.append("one", 0, [turn("lost")]),
    () => journal.renew("one", { driver: "d1", until: 0 }),
    () => Array.fromAsync(journal.read("none")),
    imported("\n{\n"),
    imported(`a${"b".repeat(2000)}\n`, 1000),
    imported(lineOf({ ...header("one"), format: 2 })),
    imported(lineOf(outcome)),
    imported(lineOf(header("one")) + lineOf({ type: "gift" })),
    () => createSqliteJournal({ path: folder }),
    () => createSqliteJournal({ path: join(folder, "none", "journal.db") }),
  ]);
});
