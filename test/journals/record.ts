/* Records the journals of this folder anew: node --conditions=portcullis-source test/journals/record.ts */
import { writeFileSync } from "node:fs";
import { createMemoryJournal, exportLines } from "../../src/journal/index.ts";
import { SCENARIOS } from "./scenarios.ts";

for (const [name, leave] of Object.entries(SCENARIOS)) {
  const journal = createMemoryJournal();
  await leave(journal, name);
  const executions = await Array.fromAsync(journal.list(), ({ execution }) => execution);
  const lines = await Array.fromAsync(exportLines(journal, executions.toReversed()));
  writeFileSync(new URL(`${name}.jsonl`, import.meta.url), lines.map((line) => `${line}\n`).join(""));
}
