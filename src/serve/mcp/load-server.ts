import { PortcullisError } from "../../errors.ts";

export type ServerPackage = typeof import("@modelcontextprotocol/server") &
  Pick<typeof import("@modelcontextprotocol/server/stdio"), "serveStdio">;

/** The package that speaks the protocol. Loaded with the first door, because most hosts open none. */
export async function loadServer(): Promise<ServerPackage> {
  try {
    const [server, { serveStdio }] = await Promise.all([
      import("@modelcontextprotocol/server"),
      import("@modelcontextprotocol/server/stdio"),
    ]);
    return { ...server, serveStdio };
  } catch (cause) {
    throw new PortcullisError(
      "door_unavailable",
      "The MCP door needs the package @modelcontextprotocol/server: npm install @modelcontextprotocol/server (with npx: npx -y -p portcullis -p @modelcontextprotocol/server -p @modelcontextprotocol/client portcullis mcp …).",
      { cause },
    );
  }
}
