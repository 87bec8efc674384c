import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { defineTextTool } from "portcullis";
import { loadAgents, taskTool } from "portcullis/agents";
import { workspaceTools } from "portcullis/workspace";

/** The documents of this repository, which the package has too. */
export const DOCUMENTS = fileURLToPath(new URL("docs", import.meta.resolve("portcullis/package.json")));

const workspace = workspaceTools({ root: DOCUMENTS });

const agents = await loadAgents(fileURLToPath(new URL("agents", import.meta.url)), {
  tools: workspace,
  allowedCallers: ["direct"],
});

/** A file of SQLite for the notes of one conversation. */
export const folder = mkdtempSync(join(tmpdir(), "portcullis-code-"));
const database = new DatabaseSync(join(folder, "notes.db"));
database.exec("CREATE TABLE lines (path TEXT, line INTEGER, text TEXT)");

const query = defineTextTool({
  name: "notes.query",
  description: "Rows of one SELECT on the table lines (path, line, text), in the SQL of SQLite.",
  format: { regex: "SELECT [^;]+" },
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: (sql) => database.prepare(sql).all(),
});

const add = defineTextTool({
  name: "notes.add",
  description: "Adds rows to the table lines (path, line, text): a JSON array of such objects.",
  allowedCallers: ["programmatic"],
  effect: "write",
  execute: (rows) => {
    const insert = database.prepare("INSERT INTO lines VALUES (?, ?, ?)");
    const given = JSON.parse(rows) as readonly {
      readonly path: string;
      readonly line: number;
      readonly text: string;
    }[];
    for (const { path, line, text } of given) insert.run(path, line, text);
    return given.length;
  },
});

export default [...workspace, taskTool(agents), query, add];
