import { loadPackage } from "../../base/index.ts";

export type ServerPackage = typeof import("@modelcontextprotocol/server") &
  Pick<typeof import("@modelcontextprotocol/server/stdio"), "serveStdio">;

const MISSING =
  "The MCP server needs the package @modelcontextprotocol/server: npm install @modelcontextprotocol/server (with npx: npx -y -p portcullis -p @modelcontextprotocol/server -p @modelcontextprotocol/client portcullis mcp …).";

/** The package that speaks the protocol. Loaded with the first door, because most hosts open none. */
export async function loadServer(): Promise<ServerPackage> {
  const [server, { serveStdio }] = await loadPackage("door_unavailable", MISSING, () =>
    Promise.all([import("@modelcontextprotocol/server"), import("@modelcontextprotocol/server/stdio")]),
  );
  return { ...server, serveStdio };
}
