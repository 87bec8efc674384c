/**
 * Appends turns to an execution that other processes append to as well: `node append-process.ts NAME COUNT PATH`, or with
 * `URL SCHEMA` in place of the path of a file.
 */
import { PortcullisError } from "../../src/base/index.ts";
import { createPostgresJournal } from "../../src/fleet/postgres/postgres-journal.ts";
import { createSqliteJournal } from "../../src/journal/sqlite/sqlite-journal.ts";
import { header, turn } from "./records.ts";

const [, , name = "", count = "0", place = "", schema] = process.argv;
await using stack = new AsyncDisposableStack();
const journal =
  schema === undefined
    ? stack.use(createSqliteJournal({ path: place }))
    : stack.use(createPostgresJournal({ url: place, schema, connections: 2 }));
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
