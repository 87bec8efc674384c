/** Appends turns to an execution that other processes append to as well: `node append-process.ts PATH NAME COUNT`. */
import { PortcullisError } from "../../../src/base/index.ts";
import { createSqliteJournal } from "../../../src/journal/sqlite/sqlite-journal.ts";
import { header, turn } from "../records.ts";

const [, , path = "", name = "", count = "0"] = process.argv;
using journal = createSqliteJournal({ path });
await journal.create(header(name));
let head = 1;
for (let n = 0; n < Number(count);) {
  try {
    head = await journal.append("shared", head, [turn(`${name}: ${n}`)]);
    n += 1;
  } catch (error) {
    if (!PortcullisError.is(error) || error.code !== "head_moved") throw error;
    for await (const summary of journal.list()) if (summary.execution === "shared") head = summary.records;
  }
}
