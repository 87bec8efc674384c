import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fromMcp } from "portcullis";

const require = createRequire(import.meta.url);
const folder = fileURLToPath(new URL(".", import.meta.url));

/** The file of an installed server, which `npx` would start too, more slowly. */
function serverFile(name: string): string {
  return join(dirname(require.resolve(`@modelcontextprotocol/${name}/package.json`)), "dist/index.js");
}

/** Programs may read. What the servers could change is of no caller: nothing is said about it here. */
const reading = (names: readonly string[]) => (name: string) =>
  names.includes(name) ? ({ allowedCallers: ["programmatic"], effect: "read" } as const) : undefined;

/** A process may take long to start on a machine that is at work. */
const STARTING_MS = 60_000;

const files = await fromMcp(
  {
    name: "files",
    command: process.execPath,
    args: [serverFile("server-filesystem"), join(folder, "notes")],
    cwd: folder,
    connectTimeoutMs: STARTING_MS,
  },
  reading(["list_directory", "read_text_file"]),
);
const memory = await fromMcp(
  {
    name: "memory",
    command: process.execPath,
    args: [serverFile("server-memory")],
    env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
    connectTimeoutMs: STARTING_MS,
  },
  reading(["read_graph", "search_nodes", "open_nodes"]),
);

export const sources = [files, memory];
export default sources.flatMap(({ tools }) => tools);
