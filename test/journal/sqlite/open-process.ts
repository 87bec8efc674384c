/** Opens journals that other processes open too, one after the other: `node open-process.ts PATH COUNT`. */
import { createSqliteJournal } from "../../../src/journal/sqlite/sqlite-journal.ts";

const [, , path = "", count = "0"] = process.argv;
for (let n = 0; n < Number(count); n += 1) createSqliteJournal({ path: `${path}-${n}` })[Symbol.dispose]();
