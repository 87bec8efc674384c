import { constants, DatabaseSync } from "node:sqlite";
import { defineTool, PortcullisError, type Tool } from "portcullis";
import { z } from "zod";

const MAX_ROWS = 1000;

type Cell = string | number | null;
export type Tables = Readonly<Record<string, readonly Readonly<Record<string, Cell>>[]>>;

/**
 * What a statement may do: read. A recursive one could run without an end and could not be stopped. A join of everything
 * with everything still takes its time, and blocks the host: offer this to trusted callers only.
 */
const ALLOWED = new Set([constants.SQLITE_SELECT, constants.SQLITE_READ, constants.SQLITE_FUNCTION]);

/** The tool `sql.query` over these tables. They are read when it is first called. */
export function defineSqlTool(description: string, readTables: () => Tables): Tool {
  let opened: DatabaseSync | undefined;
  return defineTool({
    name: "sql.query",
    description: `${description}. One SELECT of SQLite, at most ${MAX_ROWS.toLocaleString("en-US")} rows`,
    inputSchema: z.object({ sql: z.string().max(10_000) }),
    outputSchema: z.array(z.record(z.string(), z.union([z.string(), z.number(), z.null()]))),
    allowedCallers: ["direct", "programmatic"],
    effect: "read",
    execute: ({ sql }) => select((opened ??= open(readTables())), sql),
  });
}

function open(tables: Tables): DatabaseSync {
  const database = new DatabaseSync(":memory:");
  for (const [table, rows] of Object.entries(tables)) {
    const columns = Object.keys(rows[0] ?? {});
    database.exec(`CREATE TABLE ${table} (${columns.join(", ")}); BEGIN`);
    const insert = database.prepare(`INSERT INTO ${table} VALUES (${columns.map(() => "?").join(", ")})`);
    for (const row of rows) insert.run(...columns.map((column) => row[column] ?? null));
    database.exec("COMMIT");
  }
  database.setAuthorizer((action) => (ALLOWED.has(action) ? constants.SQLITE_OK : constants.SQLITE_DENY));
  return database;
}

function select(database: DatabaseSync, sql: string): Record<string, Cell>[] {
  const rows: Record<string, Cell>[] = [];
  try {
    const statement = database.prepare(sql);
    // SQLite prepares the first statement and passes over the others without a word.
    if (sql.slice(statement.sourceSQL.length).trim() !== "") throw refusal("There is more than one statement.");
    for (const row of statement.iterate()) {
      if (rows.length === MAX_ROWS)
        throw new PortcullisError(
          "tool_failed",
          `More than ${MAX_ROWS} rows: aggregate, or page with LIMIT and OFFSET.`,
        );
      rows.push({ ...row } as Record<string, Cell>);
    }
  } catch (error) {
    throw PortcullisError.is(error) ? error : refusal((error as Error).message);
  }
  return rows;
}

const refusal = (reason: string) =>
  new PortcullisError(
    "tool_failed",
    `${reason.replace(/\.?$/, ".")} One SELECT is answered, nothing that writes or recurs.`,
  );
