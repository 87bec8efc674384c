/** Appends turns to an execution that other processes append to as well: `node append-process.ts URL SCHEMA NAME COUNT`. */
import { PortcullisError } from "../../../src/base/index.ts";
import { createPostgresJournal } from "../../../src/fleet/postgres/postgres-journal.ts";
import { header, turn } from "../../journal/records.ts";

const [, , url = "", schema = "", name = "", count = "0"] = process.argv;
await using journal = createPostgresJournal({ url, schema, connections: 2 });
await journal.create(header(name));
let head = await journal.create(header("shared")).catch(() => 1);
for (let n = 0; n < Number(count);) {
  try {
    head = await journal.append("shared", head, [turn(`${name}: ${n}`)]);
    n += 1;
  } catch (error) {
    if (!PortcullisError.is(error) || error.code !== "head_moved") throw error;
    head = (await journal.find("shared")).records;
  }
}
